//! The copies lesson.

use host::args::{Command, Copies};

use crate::rig::{self, Found};

fn copies(typed: &str) -> Copies {
    match rig::parse(&format!("copies {typed}")) {
        Command::Copies(options) => options,
        other => panic!("{other:?}"),
    }
}

fn on_virtual(typed: &str) -> Found {
    rig::run(copies(typed), true)
}

/// 8 MiB, of which the last part over the bus is not a whole one.
const SMALL: &str = "--elems 2097155";

#[test]
fn only_a_pinned_copy_leaves_the_host_and_only_other_directions_overlap() {
    for card in ["virtual:h200", "virtual:t4"] {
        let found = on_virtual(&format!("{SMALL} --device {card}"));
        assert!(found.gates().iter().all(|(verdict, _)| *verdict == "pass"), "{card}: {:#?}", found.gates());
        // There and back twice with their orders, eleven about calls, two about copies at once, three traced with their
        // orders, and the result that is read too early.
        assert_eq!(found.gates().len(), 24, "{:#?}", found.gates());
        assert_eq!(found.missing("result read too early"), (1, 1));
        let complete: Vec<_> = found.document["calls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["complete_at_return"].as_u64().unwrap())
            .collect();
        assert_eq!(complete, [0, 1, 1, 0, 1, 1], "{card}");
        let (to_device, to_host) = ("copy to device", "copy to host");
        assert_eq!(found.slices, [[to_device, to_host], [to_device, to_device], [to_device, to_host]]);
    }
}

#[test]
fn copies_that_are_too_short_decide_nothing_and_fail_nothing() {
    let found = on_virtual("--elems 1");
    assert!(found.passed, "{:#?}", found.gates());
    assert_eq!(found.verdict("both directions / "), "not_gated");
}

#[test]
fn it_holds_when_everything_runs_as_late_as_the_order_allows() {
    let found = on_virtual(&format!("{SMALL} --schedule late"));
    assert!(found.passed, "{:#?}", found.gates());
    assert_eq!(found.document["read_too_early"]["old_elements"], 2_097_155);
}

#[test]
fn the_document_of_a_virtual_card_is_the_same_on_any_number_of_threads() {
    let one = on_virtual("--elems 100003 --threads 1");
    assert_eq!(on_virtual("--elems 100003 --threads 2").document, one.document);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_copies_hold() {
    let found = rig::run(copies("--device gpu"), false);
    assert!(found.passed, "{:#?}", found.gates());
}
