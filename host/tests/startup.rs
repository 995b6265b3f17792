//! The lesson on first times: what it finds on a virtual card, and that a card which was opened for it has no kernel yet.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command as Process;
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use host::args::{Cli, Command};
use host::lesson::first_use;
use host::submit::open_driver;
use serde_json::Value;

/// There is one driver in a process.
static DRIVER: Mutex<()> = Mutex::new(());

fn run(arguments: &str) -> String {
    let output =
        Process::new(env!("CARGO_BIN_EXE_host")).args(arguments.split_whitespace()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{arguments}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn document(arguments: &str) -> Value {
    serde_json::from_str(&run(arguments)).unwrap()
}

fn verdicts(document: &Value) -> Vec<&str> {
    document["gates"].as_array().unwrap().iter().map(|gate| gate["verdict"].as_str().unwrap()).collect()
}

#[test]
fn what_a_virtual_card_models_is_gated_and_what_it_does_not_model_is_said() {
    for card in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let document = document(&format!("startup --json --device {card}"));
        // Its results; no compiler and so no cache; four kernels; no eager loading; a launch beside another.
        let want = ["pass", "not_gated", "pass", "pass", "pass", "pass", "not_gated", "pass"];
        assert_eq!(verdicts(&document), want, "{card}");
        let names: Vec<_> =
            document["conditions"].as_array().unwrap().iter().map(|condition| &condition["name"]).collect();
        assert_eq!(names, ["cold cache, lazy", "cached, lazy", "cached, eager"]);
        for condition in document["conditions"].as_array().unwrap() {
            assert_eq!(condition["starts"].as_array().unwrap().len(), 1);
            assert_eq!(condition["starts"][0]["loading_mode"], "lazy");
        }
    }
    let said = run("startup --device virtual");
    assert!(said.contains("such a step is not modelled") && said.contains(" of virtual time"), "{said}");
}

#[test]
fn a_document_of_a_virtual_card_is_the_same_in_every_run() {
    let run = |threads| run(&format!("startup --json --device virtual --threads {threads}"));
    assert_eq!(run(1), run(2));
}

/// The lesson opens its card without bringing kernels to it: else no first launch would wait.
#[test]
fn a_first_launch_waits_for_what_runs_by_the_cards_schedule_and_by_no_promise() {
    let _alone = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    for (schedule, first_waited) in [("card", true), ("late", false)] {
        let words = ["host", "startup", "--device", "virtual", "--schedule", schedule];
        let Command::Startup(options) = Cli::try_parse_from(words).unwrap().command else {
            panic!("not startup")
        };
        open_driver(&options.common).unwrap();
        let found = first_use::run(0).unwrap();
        assert_eq!(
            (found.beside.first_waited, found.beside.later_waited),
            (first_waited, false),
            "{schedule}"
        );
        assert!(found.kernels.iter().all(|kernel| kernel.wrong_elements == 0));
        let kernels: Vec<_> = found.kernels.iter().map(|times| times.kernel.as_str()).collect();
        assert_eq!(kernels, ["grind_fma", "sum_four", "sweep_add", "sweep_scale"]);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_the_first_time_costs_more_than_the_second() {
    let document = document("startup --json --device gpu");
    assert!(verdicts(&document).iter().all(|verdict| *verdict != "fail"), "{document}");
    let ns =
        |condition: usize, step: &str| document["conditions"][condition]["steps"][step].as_u64().unwrap();
    // The driver compiles the PTX, and keeps what it has compiled.
    assert!(ns(0, "module_ns") > 2 * ns(1, "module_ns"), "{document}");
    assert!(ns(1, "driver_ns") > 0 && ns(1, "context_ns") > 0);
}
