//! The timing lesson.

use host::args::{Command, Timing};

use crate::rig::{self, Found};

fn timing(typed: &str) -> Timing {
    match rig::parse(&format!("timing {typed}")) {
        Command::Timing(options) => options,
        other => panic!("{other:?}"),
    }
}

fn on_virtual(typed: &str) -> Found {
    rig::run(timing(typed), true)
}

/// Large enough for the memory of a T4 to be the limit, with a last element that no four and no block takes.
const SMALL: &str = "--device virtual:t4 --elems 2097155";

#[test]
fn the_right_stopwatch_shows_the_work_and_each_wrong_one_what_was_predicted() {
    let found = on_virtual(SMALL);
    assert!(found.gates().iter().all(|(verdict, _)| *verdict == "pass"), "{:#?}", found.gates());
    // The result, two orders, the bandwidth, three stopwatches, three refusals, and both directions of a time.
    assert_eq!((found.gates().len(), found.passed), (11, true));
    assert_eq!(found.missing("events on the stream of the work"), (0, 0));
    assert_eq!(found.missing("a stop event on another stream"), (1, 1));
    assert_eq!(found.slices, [["vec_add"]]);
    let ms = |value: &serde_json::Value| value.as_f64().unwrap();
    let right = &found.document["right"];
    // Twelve bytes an element at 240 GB/s.
    assert!((0.095..0.115).contains(&ms(&right["times"]["median_ms"])), "{right}");
    for wrong in found.document["wrong"].as_array().unwrap() {
        assert!(ms(&wrong["shown_ms"]) < 0.01, "{wrong}");
    }
}

#[test]
fn a_refusal_says_which_of_the_codes_causes_it_was() {
    let found = on_virtual(SMALL);
    let sentence = |start: &str| {
        found.gates().into_iter().find(|(_, sentence)| sentence.starts_with(start)).unwrap().1.to_owned()
    };
    let early = sentence("a time asked for before the work is done");
    assert!(early.contains("(600)") && early.contains("wait for both first"), "{early}");
    let ordering = sentence("a time from ordering events");
    assert!(
        ordering.contains("(400)") && ordering.contains("`ordering stop` was made for ordering"),
        "{ordering}"
    );
    let never = sentence("a time to an event that was never recorded");
    assert!(never.contains("(400)") && never.contains("`never recorded` was never recorded"), "{never}");
}

#[test]
fn work_that_is_over_too_soon_decides_nothing_and_fails_nothing() {
    let found = on_virtual("--elems 1000");
    assert!(found.passed);
    assert_eq!(found.verdict("the host's clock without a wait"), "not_gated");
    let shows_little =
        found.gates().into_iter().find(|(_, sentence)| sentence.contains("times the L2")).unwrap();
    assert_eq!(shows_little.0, "not_gated");
}

#[test]
fn it_holds_when_everything_runs_as_late_as_the_order_allows() {
    let found = on_virtual(&format!("{SMALL} --schedule late"));
    assert!(found.passed, "{:#?}", found.gates());
    assert_eq!(found.verdict("a time asked for before the work is done"), "pass");
}

#[test]
fn the_document_of_a_virtual_card_is_the_same_on_any_number_of_threads() {
    let one = on_virtual("--device virtual:t4 --elems 100003 --threads 1");
    assert_eq!(on_virtual("--device virtual:t4 --elems 100003 --threads 2").document, one.document);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_timing_holds_with_the_courses_vectors() {
    let found = rig::run(timing("--device gpu --elems 67108864"), false);
    assert!(found.gates().iter().all(|(verdict, _)| *verdict == "pass"), "{:#?}", found.gates());
}
