//! The page as text: one file that fetches nothing, and all the data in it whatever the names are.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/random.rs"]
mod random;
#[path = "support/lesson.rs"]
mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use timeline::html::page;
use timeline::model::{Band, EdgeKind, End, Timeline};

const BEFORE: &str = "<script id=\"data\" type=\"application/json\">";

/// The data, found as a browser finds it: up to what closes the first script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(BEFORE).unwrap();
    let (data, _) = rest.split_once("</script").unwrap();
    assert!(!data.contains("<!--") && !data.contains("<script"), "the script would not end where it should");
    assert!(!data.contains(['\u{2028}', '\u{2029}']), "some readers take these for the end of a line");
    serde_json::from_str(data).unwrap()
}

/// The page without what the timeline says.
fn frame(page: &str) -> String {
    let (head, rest) = page.split_once(BEFORE).unwrap();
    let (_, tail) = rest.split_once("</script").unwrap();
    let (before, title) = head.split_once("<title>").unwrap();
    let (_, after) = title.split_once("</title>").unwrap();
    format!("{before}{after}{tail}")
}

fn expected(timeline: &Timeline) -> Value {
    json!({
        "title": timeline.title,
        "card": timeline.card,
        "is_virtual": timeline.is_virtual,
        "step_ns": timeline.step_ns,
        "end_ns": timeline.end_ns(),
        "bands": timeline.bands.iter().map(expected_band).collect::<Vec<_>>(),
    })
}

fn expected_band(band: &Band) -> Value {
    let slices = band.slices.iter().map(|slice| {
        let blocks: Vec<_> = slice
            .blocks
            .iter()
            .flat_map(|block| [u64::from(block.sm), block.start_ns, block.end_ns])
            .collect();
        json!({
            "name": slice.name, "stream": slice.stream, "start": slice.start_ns, "end": slice.end_ns,
            "details": slice.details, "blocks": blocks,
        })
    });
    let edges = band.edges.iter().map(|edge| {
        let end = |end: End, at| json!({"stream": end.stream, "slice": end.slice, "at": at});
        let kind = match edge.kind {
            EdgeKind::Event => "event",
            EdgeKind::Empty => "empty",
            EdgeKind::Missing => "missing",
        };
        json!({
            "kind": kind, "name": edge.name, "words": edge.words,
            "from": end(edge.from, band.leaves_ns(edge)), "to": end(edge.to, band.arrives_ns(edge)),
        })
    });
    let ranges = band.ranges.iter().map(|range| {
        let (start, end) = band.extent_ns(range);
        json!({"name": range.name, "start": start, "end": end})
    });
    json!({
        "name": band.name, "caption": band.caption, "streams": band.streams, "sms": band.sms,
        "slices": slices.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(), "ranges": ranges.collect::<Vec<_>>(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn the_data_is_read_back_whatever_the_names_are(timeline in random::timelines()) {
        let page = page(&timeline);
        prop_assert_eq!(data(&page), expected(&timeline));
        prop_assert_eq!(frame(&page), frame(&timeline::html::page(&support::lesson_without_blocks())));
    }
}

#[test]
fn names_that_look_like_the_pages_own_markers_are_only_names() {
    let mut timeline = support::lesson_without_blocks();
    timeline.title = "/* data */<!-- title -->/* page.js */".into();
    let page = page(&timeline);
    assert_eq!(data(&page), expected(&timeline));
    assert!(
        page.contains("<title>/* data */&lt;!-- title -->/* page.js */ on NVIDIA H200 (virtual)</title>")
    );
}

#[test]
fn nothing_in_the_page_is_fetched_and_the_browser_is_told_so() {
    let frame = frame(&page(&support::lesson_without_blocks())).to_lowercase();
    for word in ["http:", "https:", "//cdn", "src=", "@import", "url(", "fetch(", "xmlhttprequest", "import("]
    {
        assert!(!frame.contains(word), "{word}");
    }
    let links = frame.matches("href=").count();
    assert_eq!(links, frame.matches("href=\"#").count(), "a link that leads out of the page");
    assert!(frame.contains("http-equiv=\"content-security-policy\" content=\"default-src 'none';"));
}

#[test]
fn all_parts_are_in_the_page_once() {
    let page = page(&support::lesson_without_blocks());
    for part in
        [include_str!("../src/page.css"), include_str!("../src/page.js"), include_str!("../src/page_draw.js")]
    {
        assert_eq!(page.matches(part).count(), 1);
        assert!(part.lines().count() <= 500);
        assert!(!part.contains("</"), "it would end the element that it is in");
    }
}

#[test]
fn the_same_timeline_is_the_same_page() {
    assert_eq!(page(&support::lesson()), page(&support::lesson()));
}
