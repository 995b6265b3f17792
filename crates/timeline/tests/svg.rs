//! The SVG read back as XML: what it has to show, and what it may not do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use proptest::{prop_assert, prop_assert_eq, proptest};
use roxmltree::{Document, Node};
use support::{any_timeline, band, edge, slice, timeline};
use timeline::model::{EdgeKind, Timeline};
use timeline::svg::draw;

/// Two decimals are kept of each coordinate.
const ROUNDING: f64 = 0.021;

fn has_class(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|all| all.split(' ').any(|its| its == class))
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

/// A rectangle's left, right, upper and lower edge.
fn sides(node: Node<'_, '_>) -> [f64; 4] {
    let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(node, name));
    [x, x + width, y, y + height]
}

/// A kind's edges that are drawn, without the one that explains it.
fn edges<'a>(svg: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let paths = svg.descendants().filter(|node| has_class(*node, "edge") && has_class(*node, class));
    paths.filter(|node| node.parent_element().is_some_and(|group| group.has_tag_name("g"))).collect()
}

fn words(svg: &Document<'_>) -> String {
    svg.descendants().find(|node| node.has_tag_name("desc")).unwrap().text().unwrap().to_owned()
}

proptest! {
    #[test]
    fn every_slice_is_a_bar_in_a_row_and_hides_no_other(timeline in any_timeline()) {
        let text = draw(&timeline);
        let svg = Document::parse(&text).unwrap();
        let rows: Vec<_> = svg.descendants().filter(|node| has_class(*node, "row")).map(sides).collect();
        let mut bars: Vec<_> = svg.descendants().filter(|node| has_class(*node, "bar")).map(sides).collect();
        prop_assert_eq!(bars.len(), timeline.bands.iter().map(|band| band.slices.len()).sum::<usize>());
        for [left, right, top, bottom] in &bars {
            let is_in = |row: &&[f64; 4]| row[0] <= *left && *right <= row[1] + ROUNDING && row[2] == *top && row[3] == *bottom;
            prop_assert!(left <= right && rows.iter().find(is_in).is_some(), "{left} {right} {top} {bottom}");
        }
        bars.sort_by(|one, other| one[2].total_cmp(&other[2]).then(one[0].total_cmp(&other[0])));
        for pair in bars.windows(2).filter(|pair| pair[0][2] == pair[1][2]) {
            prop_assert!(pair[0][1] <= pair[1][0] + ROUNDING, "{pair:?}");
        }
    }

    #[test]
    fn every_edge_is_an_arrow_on_the_page(timeline in any_timeline()) {
        let text = draw(&timeline);
        let svg = Document::parse(&text).unwrap();
        let [width, height] = ["width", "height"].map(|name| number(svg.root_element(), name));
        for (kind, class) in [(EdgeKind::Event, "event"), (EdgeKind::Empty, "empty"), (EdgeKind::Missing, "missing")] {
            let drawn = edges(&svg, class);
            let all = timeline.bands.iter().flat_map(|band| &band.edges);
            prop_assert_eq!(drawn.len(), all.filter(|edge| edge.kind == kind).count(), "{}", class);
            for path in drawn {
                prop_assert_eq!(path.attribute("marker-end").unwrap(), format!("url(#{class})"));
                let coordinates = path.attribute("d").unwrap().split(['M', 'L', 'Q', ' ']).filter(|part| !part.is_empty());
                let coordinates: Vec<f64> = coordinates.map(|part| part.parse().unwrap()).collect();
                for point in coordinates.chunks(2) {
                    prop_assert!((0.0..=width).contains(&point[0]) && (0.0..=height).contains(&point[1]), "{point:?}");
                }
            }
        }
    }

    #[test]
    fn it_is_told_in_words_and_stands_alone(timeline in any_timeline()) {
        let text = draw(&timeline);
        prop_assert_eq!(&text, &draw(&timeline));
        let svg = Document::parse(&text).unwrap();
        let root = svg.root_element();
        prop_assert_eq!(root.attribute("role"), Some("img"));
        for id in root.attribute("aria-labelledby").unwrap().split(' ') {
            let told = svg.descendants().find(|node| node.attribute("id") == Some(id));
            prop_assert!(told.and_then(|node| node.text()).is_some(), "{}", id);
        }
        prop_assert_eq!(words(&svg).contains("Virtual"), timeline.is_virtual);
        for node in svg.descendants() {
            for attribute in node.attributes() {
                let is_link = attribute.name().contains("href") || attribute.name() == "src";
                let is_elsewhere = attribute.value().contains("url(") && !attribute.value().contains("url(#");
                prop_assert!(!is_link && !is_elsewhere, "{:?}", attribute);
            }
        }
    }
}

#[test]
fn what_a_name_says_is_what_can_be_read_of_it() {
    let mut band = band("<b>&\"", "]]> & <i>", 1, 1);
    band.slices.push(slice("f<T>(\"&\")", 0, 0, 10));
    let text = draw(&timeline("a&b", vec![band]));
    let svg = Document::parse(&text).unwrap();
    let texts: Vec<_> =
        svg.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
    for name in ["<b>&\"", "]]> & <i>", "f<T>(\"&\") · 10 us", "a&b"] {
        assert!(texts.contains(&name), "{name} in {texts:?}");
    }
}

#[test]
fn the_broken_order_shows_what_is_missing_and_the_right_one_misses_nothing() {
    let text = draw(&support::forkjoin(132));
    let svg = Document::parse(&text).unwrap();
    assert_eq!(["event", "empty", "missing"].map(|class| edges(&svg, class).len()), [12, 4, 4]);
    let labels: Vec<_> = svg.descendants().filter(|node| has_class(*node, "missing-name")).collect();
    assert_eq!(labels.iter().map(|node| node.text().unwrap()).collect::<Vec<_>>(), ["missing: mid"]);
    let title = edges(&svg, "missing")[0].parent_element().unwrap().first_element_child().unwrap();
    assert!(title.text().unwrap().contains("cause: recorded too early"));
    let words = words(&svg);
    for said in [
        "Missing: s0 -> s1 s2 s3 s4 (mid).",
        "At most 4 kernels at once, first from 588 to 1175.",
        "Waits that order nothing: s0 -> s1 s2 s3 s4 by fork-too-early.",
        "Stream s1: grind_fma 588 to 1175.",
        "No two kernels at once.",
    ] {
        assert!(words.contains(said), "{said} in {words}");
    }
}

/// Whether `colour` says it or not, a missing edge has dashes, a wait that orders nothing dots, an event a line.
#[test]
fn the_kinds_of_edges_differ_in_black_and_white() {
    let text = draw(&support::forkjoin(4));
    let rule = |class: &str| text.lines().find(|line| line.starts_with(&format!(".{class}{{"))).unwrap();
    assert!(
        rule("missing").contains("stroke-dasharray:7 4") && rule("empty").contains("stroke-dasharray:1.5 3")
    );
    assert!(!rule("event").contains("dasharray") && text.contains("prefers-color-scheme:dark"));
}

#[test]
fn four_thousand_blocks_are_a_few_hundred_rectangles_and_all_multiprocessors_have_a_row() {
    let mut one = band("one", "", 1, 132);
    one.slices.push(support::with_blocks(slice("sum_four", 0, 0, 4), 4096, 132, 8));
    let text = draw(&timeline("blocks", vec![one]));
    let svg = Document::parse(&text).unwrap();
    let paths = svg.descendants().filter(|node| node.has_tag_name("path") && has_class(*node, "k0"));
    let paths: Vec<_> = paths.filter(|node| node.first_element_child().is_some()).collect();
    assert_eq!(paths.len(), 1);
    assert!(
        paths[0]
            .first_element_child()
            .unwrap()
            .text()
            .unwrap()
            .contains("4096 blocks on 132 multiprocessors")
    );
    let rectangles = paths[0].attribute("d").unwrap().matches('M').count();
    assert!((132..=4 * 132).contains(&rectangles), "{rectangles}");
}

#[test]
fn nothing_at_all_is_drawn_too() {
    let nothing = || Timeline { bands: Vec::new(), ..timeline("nothing", Vec::new()) };
    let mut still = band("still", "", 2, 0);
    still.slices = vec![slice("now", 0, 0, 0), slice("now", 0, 0, 0), slice("now", 1, 0, 0)];
    still.edges.push(edge(EdgeKind::Missing, "x", (1, None), (0, None)));
    for timeline in [
        nothing(),
        timeline("idle", vec![band("idle", "", 1, 1), band("", "", 0, 0)]),
        timeline("", vec![still]),
    ] {
        let text = draw(&timeline);
        assert!(Document::parse(&text).is_ok() && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn a_page_with_copies_says_how_they_were_timed() {
    let says = |blocks: bool| {
        let mut only = slice("only", 0, 0, 1);
        if blocks {
            only.blocks.push(timeline::model::Block { sm: 0, start_ns: 0, end_ns: 1000 });
        }
        let mut band = band("band", "", 1, 1);
        band.slices.push(only);
        draw(&timeline("title", vec![band])).contains("a reading of the clock before it")
    };
    assert_eq!([says(false), says(true)], [true, false]);
}
