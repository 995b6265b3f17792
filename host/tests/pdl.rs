//! The lesson on programmatic dependent launch without a GPU: what differs between its modes, and what it refuses.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::lesson::{Outcome, pdl};
use host::report::Report;
use host::submit::{Context, Error};
use serde_json::Value;
use support::driver::{self, Driver};

const SMALL: &str = "--elems 1000 --pairs 3 --runs 1 --warmups 0";

fn lesson(typed: &str) -> Result<(Value, bool), Error> {
    let words = ["host", "pdl", "--json"].into_iter().chain(typed.split_whitespace());
    let Command::Pdl(options) = Cli::try_parse_from(words).unwrap().command else { panic!("not pdl") };
    let context = Context::open(0, IMAGES)?;
    let findings = pdl::run(&context, &options, Report::new(true).quiet());
    assert!(context.finish().is_empty());
    let findings = findings?;
    Ok((serde_json::to_value(&findings).unwrap(), findings.passed()))
}

#[test]
fn the_modes_differ_in_one_value_of_one_attribute_of_the_secondary() {
    let (outcome, driver) = driver::with(Driver::new(), || lesson(SMALL));
    assert!(outcome.unwrap().1 && driver.leaks().is_empty());
    // Checked, timed and then traced, in both modes; three pairs each. The clock is read by one thread.
    let is_of_a_pair = |call: &&String| call.starts_with("cuLaunchKernel") && !call.contains(" 1x1 ");
    let launches: Vec<_> = driver.calls.iter().filter(is_of_a_pair).map(String::as_str).collect();
    let primary = launches[0];
    assert!(primary.starts_with("cuLaunchKernel 4x256 "), "{primary}");
    let pairs = |value| vec![[primary.to_owned(), format!("cuLaunchKernelEx 4x256 6={value}")]; 3].concat();
    assert_eq!(launches, vec![[pairs(0), pairs(1)].concat(); 3].concat());
}

#[test]
fn every_place_of_the_trigger_has_a_kernel_of_its_own_and_the_same_result() {
    for (typed, kernel) in [
        ("", "produce_stage"),
        ("--trigger mid", "produce_stage"),
        ("--trigger early", "produce_stage_early"),
        ("--trigger late", "produce_stage_late"),
        ("--trigger never", "produce_stage_never"),
    ] {
        let (outcome, driver) = driver::with(Driver::new(), || lesson(&format!("{SMALL} {typed}")));
        let (document, passed) = outcome.unwrap();
        assert!(passed, "{document}");
        assert!(driver.calls.contains(&format!("cuModuleGetFunction {kernel}")), "{:?}", driver.calls);
    }
}

#[test]
fn the_sweep_has_a_cell_for_every_trigger_on_three_grids() {
    let (outcome, driver) = driver::with(Driver::new(), || lesson(&format!("{SMALL} --sweep")));
    let (document, passed) = outcome.unwrap();
    assert!(passed && driver.leaks().is_empty());
    let cells: Vec<_> = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| (cell["trigger"].as_str().unwrap(), cell["blocks"].as_u64().unwrap()))
        .collect();
    // One block on each of 132 multiprocessors, the eight that each holds, and the lesson's own grid.
    let grids = [132, 8 * 132, 4];
    let want: Vec<_> = grids
        .into_iter()
        .flat_map(|blocks| ["early", "mid", "late", "never"].map(|place| (place, blocks)))
        .collect();
    assert_eq!(cells, want);
    // Of each: in both modes the result and the order.
    assert_eq!(document["gates"].as_array().unwrap().len(), 4 * want.len());
}

#[test]
fn a_wrong_baseline_and_a_result_that_the_early_start_changed_fail_and_nothing_is_timed() {
    // Three pairs are six launches; the last secondary of each mode is the one whose output is looked at.
    for (launch, gate, says) in
        [(5, 1, "baseline wrong at 17"), (11, 3, "pdl differs from the baseline at 17")]
    {
        let spoiled = Driver { spoiled_launch: Some(launch), ..Driver::new() };
        let (outcome, driver) = driver::with(spoiled, || lesson(SMALL));
        let (document, passed) = outcome.unwrap();
        assert!(!passed && driver.leaks().is_empty());
        let sentence = document["gates"][gate]["sentence"].as_str().unwrap();
        assert!(sentence.starts_with(says), "{sentence}");
        assert_eq!(document["cells"], Value::Array(Vec::new()));
        assert!(!driver.calls.iter().any(|call| call.starts_with("cuEvent")));
    }
}

#[test]
fn a_card_before_9_0_is_refused_before_anything_is_allocated() {
    for capability in [75, 80, 89] {
        let (outcome, driver) = driver::with(Driver { capability, ..Driver::new() }, || lesson(SMALL));
        let error = outcome.map(|_| ()).unwrap_err();
        assert!(error.is_bad_input());
        let text = error.to_string();
        let (major, minor) = (capability / 10, capability % 10);
        let says = format!(
            "programmatic dependent launch needs compute capability 9.0 or newer: Test Card has {major}.{minor}"
        );
        assert!(text.starts_with(&says), "{text}");
        assert!(!driver.calls.iter().any(|call| call.starts_with("cuMemAlloc")));
    }
}
