//! The fork-join lesson without a GPU: what it submits, what it finds, and how it ends when something goes wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use clap::Parser;
use host::args::{Cli, Command, Device, ForkJoin};
use host::kernels::IMAGES;
use host::lesson::{Outcome, diamond::Diamond, forkjoin};
use host::report::Report;
use host::submit::{Context, Error};
use serde_json::Value;
use support::driver::{self, Driver};

/// The number of the GPU that was asked for.
fn ordinal(options: &ForkJoin) -> u32 {
    if let Device::Gpu(ordinal) = options.common.device { ordinal } else { 0 }
}

fn options(typed: &str) -> ForkJoin {
    let words = ["host", "forkjoin", "--json"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Forkjoin(options) => options,
        other => panic!("{other:?}"),
    }
}

/// Small enough for a test; the defaults in all that decides the order.
const SMALL: &str = "--elems 1000 --iters 8 --runs 2 --warmups 1 --order off";

/// The lesson's document and the releases that failed.
fn lesson(typed: &str) -> Result<(Value, bool, Vec<Error>), Error> {
    let options = options(typed);
    let context = Context::open(ordinal(&options), IMAGES)?;
    let findings = forkjoin::run(&context, &options, Report::new(true).quiet());
    let released = context.finish();
    let findings = findings?;
    Ok((serde_json::to_value(&findings).unwrap(), findings.passed(), released))
}

fn order(submit: fn(&Diamond<'_>) -> Result<(), Error>) -> (String, Vec<String>) {
    let (log, driver) = driver::with(Driver::new(), || {
        let context = Context::open(0, IMAGES).unwrap();
        let log = {
            let diamond = Diamond::new(&context, &options(SMALL), &[0.5; 1000]).unwrap();
            context.logged(|| submit(&diamond)).unwrap()
        };
        assert!(context.finish().is_empty());
        for entry in &log.entries {
            assert!(entry.at.file().ends_with("lesson/diamond.rs"), "{}", entry.at);
        }
        log.to_string()
    });
    let ordering = ["cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent"];
    let calls = driver.calls.iter().filter_map(|call| call.split(' ').next()).map(str::to_owned);
    (log, calls.filter(|name| ordering.contains(&name.as_str())).collect())
}

/// The log's first words, as the driver's calls are called.
fn call_names(log: &str) -> Vec<String> {
    log.lines()
        .map(|line| match line.split(' ').next() {
            Some("launch") => "cuLaunchKernel".to_owned(),
            Some("record") => "cuEventRecord".to_owned(),
            _ => "cuStreamWaitEvent".to_owned(),
        })
        .collect()
}

#[test]
fn the_diamond_records_once_waits_twice_for_each_branch_and_launches_six_kernels() {
    let (log, calls) = order(|diamond| diamond.submit_diamond());
    assert_eq!(
        log,
        "launch grind_fma on s0, reads input, writes mid\n\
         record fork on s0\n\
         s1 waits for fork\n\
         launch grind_fma on s1, reads mid, writes branch1\n\
         record done1 on s1\n\
         s2 waits for fork\n\
         launch grind_fma on s2, reads mid, writes branch2\n\
         record done2 on s2\n\
         s3 waits for fork\n\
         launch grind_fma on s3, reads mid, writes branch3\n\
         record done3 on s3\n\
         s4 waits for fork\n\
         launch grind_fma on s4, reads mid, writes branch4\n\
         record done4 on s4\n\
         s0 waits for done1\n\
         s0 waits for done2\n\
         s0 waits for done3\n\
         s0 waits for done4\n\
         launch sum_four on s0, reads branch1 branch2 branch3 branch4, writes sum0\n"
    );
    assert_eq!(calls, call_names(&log));
}

#[test]
fn the_serial_order_is_six_launches_in_one_stream() {
    let (log, calls) = order(|diamond| diamond.submit_serial());
    assert_eq!(
        log,
        "launch grind_fma on s0, reads input, writes mid\n\
         launch grind_fma on s0, reads mid, writes branch1\n\
         launch grind_fma on s0, reads mid, writes branch2\n\
         launch grind_fma on s0, reads mid, writes branch3\n\
         launch grind_fma on s0, reads mid, writes branch4\n\
         launch sum_four on s0, reads branch1 branch2 branch3 branch4, writes sum0\n"
    );
    assert_eq!(calls, call_names(&log));
}

#[test]
fn the_broken_order_is_the_diamond_with_the_record_moved_before_the_upstream_launch() {
    let (diamond, _) = order(|diamond| diamond.submit_diamond());
    let (broken, calls) = order(|diamond| diamond.submit_broken());
    let mut lines: Vec<_> = diamond.lines().map(|line| line.replace("fork", "fork-too-early")).collect();
    lines.swap(0, 1);
    assert_eq!(broken.lines().collect::<Vec<_>>(), lines);
    assert_eq!(calls, call_names(&broken));
}

#[test]
fn when_all_is_well_every_gate_passes_and_nothing_is_left() {
    let (outcome, driver) = driver::with(Driver::new(), || lesson(SMALL));
    let (document, passed, released) = outcome.unwrap();
    assert!(passed && released.is_empty() && driver.leaks().is_empty());
    let verdicts: Vec<_> =
        document["gates"].as_array().unwrap().iter().map(|gate| &gate["verdict"]).collect();
    // Without the checker: two results, the ordering event, the ratio, and four looks at the timeline.
    assert_eq!(verdicts, ["pass"; 8]);
    assert_eq!(document["clock_step_ns"], 32);
    let ran = &document["timeline"][0];
    assert_eq!((&ran["band"], &ran["kernels"][1]["stream"]), (&Value::from("diamond"), &Value::from("s1")));
    assert_eq!(ran["kernels"][1]["start_ns"], ran["kernels"][0]["end_ns"]);
    for result in ["diamond_result", "serial_result"] {
        assert_eq!(document[result]["bit_identical"], 1000);
    }
    // Two kernels of 500 us and the sum of 5; five and the sum.
    let ratio = document["serial_over_diamond"].as_f64().unwrap();
    assert!((ratio - 2505.0 / 1005.0).abs() < 1e-3, "{ratio}");
    assert_eq!(document["diamond_times"]["runs"], 2);
    assert_eq!(document["broken_order"]["elements"], 1000);
    assert_eq!(document["card"]["name"], "Test Card");
    assert_eq!(document["parameters"]["elems"], 1000);
}

#[test]
fn the_right_orders_miss_no_edge_and_the_broken_one_misses_one_for_each_branch() {
    for branches in [1, 2, 4, 7, 16] {
        for order in ["report", "deny"] {
            let typed =
                format!("--elems 100 --iters 1 --runs 1 --warmups 0 --branches {branches} --order {order}");
            let (document, passed, _) = driver::with(Driver::new(), || lesson(&typed)).0.unwrap();
            assert!(passed, "{document}");
            let found: Vec<_> = document["missing_edges"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| (one["order"].as_str().unwrap(), one["edges"].as_array().unwrap().len()))
                .collect();
            assert_eq!(found, [("diamond", 0), ("serial", 0), ("broken order", branches)]);
        }
    }
}

#[test]
fn a_missing_edge_is_told_with_both_launches_the_record_and_the_repair() {
    let typed = "--elems 100 --iters 1 --runs 1 --warmups 0";
    let (document, ..) = driver::with(Driver::new(), || lesson(typed)).0.unwrap();
    let edges = document["missing_edges"][2]["edges"].as_array().unwrap();
    let source = include_str!("../src/lesson/diamond.rs");
    let line = |code: &str| source.lines().position(|line| line.trim() == code).unwrap() + 1;
    let record =
        format!("diamond.rs:{}) before (1) was submitted", line("self.main.record(&self.fork_too_early)?;"));
    for (edge, stream) in edges.iter().zip(["s1", "s2", "s3", "s4"]) {
        let report = edge["report"].as_str().unwrap();
        let says = [
            &format!("missing edge from `s0` to `{stream}`: bytes 0..400 of `mid`"),
            "kernel `grind_fma` on `s0` writes them",
            &format!("kernel `grind_fma` on `{stream}` reads them"),
            "`fork-too-early` was recorded on `s0`",
            &record,
            "repair: record `fork-too-early` after (1) and before the wait",
        ];
        assert!(says.iter().all(|part| report.contains(part)), "{report}");
    }
}

#[test]
fn the_broken_order_runs_last_on_zeroed_memory() {
    let (_, driver) = driver::with(Driver::new(), || lesson(SMALL));
    let after_the_clock =
        driver.calls.iter().rposition(|call| call.starts_with("cuEventElapsedTime")).unwrap();
    let rest: Vec<_> =
        driver.calls[after_the_clock..].iter().filter_map(|call| call.split(' ').next()).collect();
    // Traced first, with a warm-up of its own, and then as it is.
    let zeroed: Vec<_> = (0..rest.len()).filter(|&call| rest[call] == "cuMemsetD8Async").collect();
    assert_eq!(zeroed.len(), 2, "{rest:?}");
    for (zeroed, runs) in zeroed.into_iter().zip([2, 1]) {
        let after = &rest[zeroed..];
        let recorded = after.iter().position(|&call| call == "cuEventRecord").unwrap();
        let launched = after.iter().position(|&call| call == "cuLaunchKernel").unwrap();
        assert!(recorded < launched, "{rest:?}");
        let to_the_end = after[1..].iter().position(|&call| call == "cuMemsetD8Async");
        let launches = after[..to_the_end.unwrap_or(after.len() - 1) + 1].iter();
        assert_eq!(launches.filter(|&&call| call == "cuLaunchKernel").count(), 6 * runs, "{rest:?}");
    }
}

#[test]
fn any_number_of_branches_is_joined_and_bit_identical() {
    for branches in 1..=16_u32 {
        let (outcome, driver) =
            driver::with(Driver::new(), || lesson(&format!("{SMALL} --branches {branches}")));
        let (document, passed, _) = outcome.unwrap();
        assert!(passed, "{document}");
        assert_eq!(document["diamond_result"]["bit_identical"], 1000, "{branches} branches");
        assert_eq!(document["critical_path_bound"], f64::from(1 + branches) / 2.0);
        assert!(driver.leaks().is_empty());
    }
}

#[test]
fn a_wrong_element_fails_the_gate_of_its_order_and_ends_the_lesson() {
    // The diamond launches six kernels; the serial order's follow. The sum is the last of each.
    for (launch, order, gates) in [(0, "diamond", 1), (5, "diamond", 1), (6, "serial", 2), (11, "serial", 2)]
    {
        let spoiled = Driver { spoiled_launch: Some(launch), ..Driver::new() };
        let (outcome, driver) = driver::with(spoiled, || lesson(SMALL));
        let (document, passed, released) = outcome.unwrap();
        assert!(!passed && released.is_empty() && driver.leaks().is_empty());
        let all = document["gates"].as_array().unwrap();
        let last = all.last().unwrap();
        assert_eq!((all.len(), &last["verdict"]), (gates, &Value::from("fail")));
        let sentence = last["sentence"].as_str().unwrap();
        assert!(sentence.contains(order) && sentence.contains("wrong at 17: got "), "{sentence}");
        assert!(document["diamond_times"].is_null() && document["broken_order"].is_null());
        assert!(!driver.calls.iter().any(|call| call.starts_with("cuEventElapsedTime")));
    }
}

#[test]
fn branches_that_do_not_overlap_fail_the_gate_on_a_card_that_is_large_enough() {
    // The ratio needs a card that is large enough; the timeline does not.
    for (sms, verdict) in [(132, "fail"), (24, "fail"), (23, "not_gated")] {
        let slow = Driver { one_at_a_time: true, sms, ..Driver::new() };
        let (outcome, driver) = driver::with(slow, || lesson(SMALL));
        let (document, passed, _) = outcome.unwrap();
        assert_eq!(document["gates"][3]["verdict"], verdict, "{sms} SMs");
        assert!(!passed);
        assert_eq!(document["broken_order"].is_null(), verdict == "fail");
        let looks = document["gates"].as_array().unwrap()[4..].iter();
        let verdicts: Vec<_> = looks.map(|gate| gate["verdict"].as_str().unwrap()).collect();
        assert_eq!(verdicts, if verdict == "fail" { &[][..] } else { &["fail", "pass", "pass", "fail"] });
        assert!(driver.leaks().is_empty());
    }
}

#[test]
fn an_ordering_event_that_tells_a_time_fails_its_gate() {
    let wrong = Driver { times_everything: true, ..Driver::new() };
    let (outcome, _) = driver::with(wrong, || lesson(SMALL));
    let (document, passed, _) = outcome.unwrap();
    assert!(!passed);
    assert_eq!(document["gates"][2]["verdict"], "fail");
}

#[test]
fn whichever_call_fails_the_error_names_it_and_its_caller_and_everything_is_released() {
    let typed = "--elems 100 --iters 1 --runs 1 --warmups 0 --branches 2 --order off";
    let (_, driver) = driver::with(Driver::new(), || lesson(typed));
    for (number, call) in driver.calls.iter().enumerate() {
        let name = call.split(' ').next().unwrap();
        if driver.calls.get(number + 1) == Some(call) && name == "cuCtxSetCurrent" {
            // `cust` drops the answer of this one, so the submission layer makes the call once more.
            continue;
        }
        let failing = Driver { fails: Some((number, 700)), ..Driver::new() };
        let (outcome, after) = driver::with(failing, || lesson(typed));
        // A release that fails is reported at the end, and what it was to release is all that is left.
        let releases = name.contains("Destroy") || ["cuMemFree_v2", "cuModuleUnload"].contains(&name);
        let is_intended_error = name == "cuEventElapsedTime" && outcome.is_ok();
        let error = match outcome {
            Err(error) => error.to_string(),
            Ok((_, _, released)) if !released.is_empty() => released[0].to_string(),
            Ok((document, passed, _)) => {
                assert!(is_intended_error && !passed, "{name} failed and nobody said so");
                document["gates"][2]["sentence"].to_string()
            }
        };
        assert!(error.contains("CUDA_ERROR_ILLEGAL_ADDRESS") && error.contains("700"), "{name}: {error}");
        assert!(!error.contains('\n'), "{error}");
        if !is_intended_error {
            assert!(error.contains(name.trim_end_matches("_v2")), "{name}: {error}");
            assert!(error.contains(".rs:"), "{name}: {error}");
        }
        let left = after.leaks().len();
        assert_eq!(left, usize::from(releases), "{name} (call {number}) left {:?}", after.leaks());
    }
}

#[test]
fn memory_that_does_not_suffice_is_bad_input_with_both_numbers() {
    let (_, driver) = driver::with(Driver::new(), || lesson(SMALL));
    let first = driver.calls.iter().position(|call| call.starts_with("cuMemAlloc")).unwrap();
    let full = Driver { fails: Some((first, 2)), ..Driver::new() };
    let (outcome, after) = driver::with(full, || lesson(SMALL));
    let error = outcome.map(|_| ()).unwrap_err();
    assert!(error.is_bad_input());
    assert!(
        error.to_string().contains("needs 4000 bytes") && error.to_string().contains("1000 are free"),
        "{error}"
    );
    assert!(after.leaks().is_empty());
}

#[test]
fn the_newest_ptx_that_card_and_driver_take_is_loaded() {
    for (capability, newest_ptx, arch) in
        [(75, 90, "sm_75"), (80, 90, "sm_75"), (90, 90, "sm_90"), (120, 90, "sm_90"), (90, 70, "sm_75")]
    {
        let card = Driver { capability, newest_ptx, ..Driver::new() };
        let (outcome, _) = driver::with(card, || lesson(SMALL));
        let loaded = &outcome.unwrap().0["kernels"]["arch"];
        assert_eq!(loaded, arch, "capability {capability}, driver reads {newest_ptx}");
    }
}

#[test]
fn what_cannot_run_is_said_in_one_line_as_bad_input() {
    let too_old_card = Driver { capability: 70, ..Driver::new() };
    let too_old_driver = Driver { newest_ptx: 60, ..Driver::new() };
    let no_card = Driver { devices: 0, ..Driver::new() };
    for (driver, typed, says) in [
        (too_old_card, SMALL, ["7.0", "7.5"]),
        (too_old_driver, SMALL, ["CUDA 13.0", "PTX 6.3"]),
        (no_card, SMALL, ["no CUDA device", "nvidia-smi"]),
        (Driver::new(), "--device 1", ["no device 1", "has 1"]),
    ] {
        let (outcome, after) = driver::with(driver, || lesson(typed));
        let error = outcome.map(|_| ()).unwrap_err();
        let text = error.to_string();
        assert!(error.is_bad_input() && says.iter().all(|part| text.contains(part)), "{text}");
        assert!(!text.contains('\n') && after.leaks().is_empty());
    }
}
