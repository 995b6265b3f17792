//! The bench without a GPU: every kernel is there, and its numbers follow from its time and its work.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::lesson::bench;
use host::report::Report;
use host::submit::{Context, Error};
use serde_json::Value;
use support::driver::{self, Driver};

fn run(driver: Driver) -> Result<Value, Error> {
    let words = "host bench --json --runs 1 --warmups 0".split(' ');
    let Command::Bench(options) = Cli::try_parse_from(words).unwrap().command else { panic!("not bench") };
    let (outcome, driver) = driver::with(driver, || {
        let context = Context::open(0, IMAGES)?;
        let findings = bench::run(&context, &options, Report::new(true).quiet());
        assert!(context.finish().is_empty());
        findings
    });
    assert!(driver.leaks().is_empty());
    outcome.map(|findings| serde_json::to_value(&findings).unwrap())
}

#[test]
fn every_kernel_and_every_lesson_is_in_the_document() {
    let document = run(Driver::new()).unwrap();
    let rows = document["kernels"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["grind_fma", "sum_four", "spin_lcg", "sweep_add", "sweep_scale", "produce_stage", "combine_stage"]
    );
    for lesson in ["forkjoin", "streams", "pdl"] {
        assert_eq!(document[lesson]["lesson"], lesson);
    }
    // 132 multiprocessors of 128 lanes at 1.98 GHz; 500 us for 2^20 chains of 512 steps.
    let limit = 132.0 * 128.0 * 1.98e9;
    assert_eq!(document["limits"]["fma_per_s"], limit);
    let achieved = rows[0]["per_s"].as_f64().unwrap();
    assert!((achieved / (f64::from(1 << 20) * 512.0 / 500e-6) - 1.0).abs() < 1e-3, "{achieved}");
    assert!((rows[0]["of_limit"].as_f64().unwrap() - achieved / limit).abs() < 1e-9);
}

#[test]
fn a_card_without_dependent_launch_has_the_rest() {
    let document = run(Driver { capability: 75, ..Driver::new() }).unwrap();
    assert_eq!(document["kernels"].as_array().unwrap().len(), 5);
    assert_eq!((&document["pdl"], &document["streams"]["lesson"]), (&Value::Null, &Value::from("streams")));
}
