//! The page in a browser without a window and without a network. Chromium is found on the PATH, or as the variable CHROMIUM.
//!
//! A script is put behind the page's own (`support/verdict.js`). It does what a person does, with real events, and says
//! what it saw as JSON to the document around the page, which the browser prints.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/lesson.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use timeline::html::page;
use timeline::model::Timeline;

/// What the script saw in a window of this size; `is_dark` is the browser's preference. The window is a frame in a bigger one,
/// for no browser's own is as narrow as a telephone.
fn verdict(name: &str, timeline: &Timeline, (width, height): (u32, u32), is_dark: bool) -> Value {
    let folder = std::env::temp_dir().join(format!("timeline-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // Errors are noted from before the page's own script on. The browser's virtual time runs on timers and waits for no
    // frame, so frames are timers.
    let watch = "<script>requestAnimationFrame = (draw) => setTimeout(draw, 1); window.failures = []; onerror = (message) => failures.push(message);\
                 console.error = (...words) => failures.push(words.join(' '));\
                 addEventListener('securitypolicyviolation', (event) => failures.push(event.violatedDirective));</script>";
    let page = page(timeline).replace("<style>", &format!("{watch}<style>"));
    let script = include_str!("support/verdict.js");
    std::fs::write(folder.join("page.html"), format!("{page}<script>{script}</script>")).unwrap();
    let frame = format!(
        "<!doctype html><pre id=verdict></pre><script>onmessage = (message) => verdict.textContent = message.data</script>\
         <iframe src=page.html width={width} height={height}></iframe>"
    );
    let file = folder.join("frame.html");
    std::fs::write(&file, frame).unwrap();

    let chromium = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
    let output = Command::new(&chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        // No name is resolved and no address is reached.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--window-size=1400,1000")
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark)))
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", chromium.display()));
    std::fs::remove_dir_all(&folder).unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = dom.split_once("<pre id=\"verdict\">").expect("the browser printed no page");
    let (text, _) = rest.split_once("</pre>").unwrap();
    let text =
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("no verdict ({error}): {text:?}"))
}

/// How many slices, edges and ranges there are.
fn items(timeline: &Timeline) -> usize {
    timeline.bands.iter().map(|band| band.slices.len() + band.edges.len() + band.ranges.len()).sum()
}

fn small() -> Timeline {
    let mut timeline = support::lesson();
    timeline.bands.truncate(3);
    timeline.bands.push(support::pairs(8, 300));
    timeline
}

fn assert_all(verdict: &Value) {
    let checks = verdict["checks"].as_object().unwrap();
    assert!(checks.len() >= 20, "the script did not come to its end: {verdict}");
    let failed: Vec<_> = checks.iter().filter(|(_, holds)| **holds != json!(true)).collect();
    assert_eq!(failed, [], "{verdict}");
    assert_eq!(verdict["failures"], json!([]), "errors in the console");
    assert_eq!(verdict["fetched"], json!([]), "something was fetched");
}

#[test]
#[ignore = "needs Chromium"]
fn everything_can_be_reached_and_asked_and_nothing_is_fetched() {
    for (name, size, is_dark) in [("wide", (1280, 800), false), ("narrow", (400, 800), true)] {
        let timeline = small();
        let verdict = verdict(name, &timeline, size, is_dark);
        assert_all(&verdict);
        assert_eq!(verdict["reached"], json!(items(&timeline)), "what the arrow keys reach");
        assert_eq!(verdict["width"], json!(size.0));
        assert_eq!(verdict["is dark"], json!(is_dark));
        assert_eq!(verdict["rows in the table"], json!(items(&timeline)));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn names_that_are_markup_are_shown_as_text() {
    let mut timeline = small();
    let hostile = "</script><script>failures.push('it ran')</script><img src=x onerror=failures.push('it-ran')>&amp;\u{2028}";
    timeline.title = hostile.into();
    timeline.card = hostile.into();
    for band in &mut timeline.bands {
        band.name = hostile.into();
        band.caption = hostile.into();
        band.streams.iter_mut().for_each(|stream| stream.name = hostile.into());
        band.slices.iter_mut().for_each(|slice| slice.details = vec![(hostile.into(), hostile.into())]);
        band.edges.iter_mut().for_each(|edge| edge.words = hostile.into());
        band.ranges.iter_mut().for_each(|range| range.name = hostile.into());
    }
    let verdict = verdict("hostile", &timeline, (1280, 800), false);
    assert_all(&verdict);
    assert_eq!(verdict["heading"], json!(hostile));
    assert_eq!(verdict["reached"], json!(items(&timeline)));
}

#[test]
#[ignore = "needs Chromium"]
fn a_timeline_of_nothing_is_a_page_too() {
    for bands in [Vec::new(), vec![support::band("empty", 1, Vec::new())]] {
        let verdict = verdict("empty", &Timeline { bands, ..support::lesson() }, (1280, 800), false);
        assert_eq!(verdict["failures"], json!([]));
        assert_eq!(verdict["reached"], json!(0));
        assert_eq!(verdict["heading"], json!("forkjoin"));
    }
}

#[test]
#[ignore = "needs Chromium"]
fn half_a_million_blocks_are_drawn() {
    let timeline = Timeline { bands: vec![support::pairs(64, 4099)], ..support::lesson() };
    let verdict = verdict("many", &timeline, (1280, 800), false);
    assert_all(&verdict);
    assert_eq!(verdict["reached"], json!(128));
}
