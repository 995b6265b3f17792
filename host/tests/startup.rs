//! The lesson on first times: what it finds on a virtual device, and that a device which was opened for it has no kernel yet.
//! Whole lessons run as the built program, because it starts itself again.

#[path = "support/program.rs"]
mod program;
mod support;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::startup::{
    NOISE, beside_a_running_kernel, cached_load, eager_loading, first_launch, right,
};
use program::document;
use serde_json::Value;
use support::{failed, verdicts};

const KERNELS: [&str; 4] = ["grind_fma", "sum_four", "sweep_add", "sweep_scale"];

#[test]
fn what_a_virtual_device_models_is_judged_and_what_it_does_not_model_is_not() {
    for device in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let document = document(&format!("startup --json --order deny --device {device}"));
        // There is no compiler and so no cache, and no eager loading.
        let mut want = vec![("kernels.result".to_owned(), "pass"), ("load.cached".to_owned(), "not_judged")];
        want.extend(KERNELS.map(|kernel| (format!("first-launch.{kernel}"), "pass")));
        want.push(("eager.first-launches".to_owned(), "not_judged"));
        want.push(("beside.later-launch".to_owned(), "pass"));
        let want: Vec<_> = want.into_iter().map(|(id, verdict)| (id, verdict.to_owned())).collect();
        assert_eq!(verdicts(&document), want, "{device}");
        let conditions = document["values"]["conditions"].as_array().unwrap();
        let names: Vec<_> = conditions.iter().map(|condition| &condition["name"]).collect();
        assert_eq!(names, ["cold cache, lazy", "cached, lazy", "cached, eager"]);
        for condition in conditions {
            assert_eq!(condition["starts"].as_array().unwrap().len(), 1);
            assert_eq!(condition["starts"][0]["loading_mode"], "lazy");
        }
    }
}

#[test]
fn the_values_do_not_depend_on_the_number_of_threads() {
    let run = |threads| document(&format!("startup --json --device virtual --threads {threads}"));
    assert_eq!(run(1), run(2));
}

/// A process of the lesson opens its device without bringing kernels to it: else no first launch would wait.
#[test]
fn a_first_launch_waits_for_what_runs_by_the_devices_schedule_and_by_no_promise() {
    for (schedule, first_waited) in [("earliest", true), ("late", false)] {
        let found = document(&format!("child startup --device virtual --schedule {schedule}"));
        assert_eq!(found["beside"]["first_waited"], first_waited, "{schedule}");
        assert_eq!(found["beside"]["later_waited"], false, "{schedule}");
        let kernels = found["kernels"].as_array().unwrap();
        assert!(kernels.iter().all(|kernel| kernel["wrong_elements"] == 0));
        assert_eq!(kernels.iter().map(|kernel| &kernel["kernel"]).collect::<Vec<_>>(), KERNELS);
    }
}

#[test]
fn the_second_time_costs_no_more_than_the_first() {
    for (first, later, verdict) in [(5, 4, Pass), (5, 5, Pass), (5, 6, Fail)] {
        assert_eq!(first_launch("k", first, later).verdict, verdict);
    }
    // A driver without a compiler is none of whose cache anything could be said.
    for (cold, cached, verdict) in [(100, 99, Pass), (100, 100, NotJudged), (100, 101, Fail)] {
        assert_eq!(cached_load(cold, cached).verdict, verdict);
    }
}

#[test]
fn eager_loading_is_judged_where_it_takes_place_and_beyond_what_is_noise() {
    for (lazy, eager, verdict) in
        [(5, 4, Pass), (5, 5, Pass), (5, 6, NotJudged), (5, 5 * NOISE, NotJudged), (5, 5 * NOISE + 1, Fail)]
    {
        assert_eq!(eager_loading(true, lazy, eager).verdict, verdict, "{lazy} {eager}");
        assert_eq!(eager_loading(false, lazy, eager).verdict, NotJudged);
    }
}

#[test]
fn only_a_kernel_that_is_not_there_yet_may_wait() {
    for first_waited in [false, true] {
        assert_eq!(beside_a_running_kernel(first_waited, false).verdict, Pass);
        assert_eq!(beside_a_running_kernel(first_waited, true).verdict, Fail);
    }
}

#[test]
fn nothing_that_was_compared_is_no_proof() {
    for (processes, kernels, wrong, verdict) in
        [(3, 4, 0, Pass), (3, 4, 1, Fail), (0, 4, 0, Fail), (3, 0, 0, Fail)]
    {
        assert_eq!(right(processes, kernels, wrong).verdict, verdict);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_the_first_time_costs_more_than_the_second() {
    let document = document("startup --json --device gpu");
    assert_eq!(failed(&document), [""; 0]);
    let ns = |condition: usize, step: &str| -> u64 {
        let steps: &Value = &document["values"]["conditions"][condition]["steps"];
        steps[step].as_u64().unwrap()
    };
    // The driver compiles the PTX, and keeps what it has compiled.
    assert!(ns(0, "module_ns") > 2 * ns(1, "module_ns"), "{document}");
    assert!(ns(1, "driver_ns") > 0 && ns(1, "context_ns") > 0);
}
