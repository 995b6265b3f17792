//! The streams lesson without a GPU: what its four parts submit, what it finds, and how it ends when a kernel is wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::lesson::lanes::{Lanes, Plan};
use host::lesson::{Outcome, streams};
use host::report::Report;
use host::submit::{Context, Error};
use serde_json::Value;
use support::driver::{self, Driver};

/// Small enough for a test.
const SMALL: &str = "--elems 5000 --runs 2 --warmups 1";

fn lesson(typed: &str) -> Result<(Value, bool), Error> {
    let words = ["host", "streams", "--json"].into_iter().chain(typed.split_whitespace());
    let Command::Streams(options) = Cli::try_parse_from(words).unwrap().command else {
        panic!("not streams")
    };
    let context = Context::open(0, IMAGES)?;
    let findings = streams::run(&context, &options, Report::new(true).quiet());
    assert!(context.finish().is_empty());
    let findings = findings?;
    Ok((serde_json::to_value(&findings).unwrap(), findings.passed()))
}

fn order(part: impl FnOnce(&Lanes<'_>) -> Result<(), Error>) -> String {
    let (log, _) = driver::with(Driver::new(), || {
        let context = Context::open(0, IMAGES).unwrap();
        let plan = Plan::new(context.card(), 1056, Some(100));
        let lanes = Lanes::new(&context, plan, &[1.0; 100]).unwrap();
        context.logged(|| part(&lanes)).unwrap().to_string()
    });
    log
}

const SPIN: &str = "launch spin_lcg on {}, writes spun\n";
const ADD: &str = "launch sweep_add on {}, reads input, writes added\n";
const SCALE: &str = "launch sweep_scale on {}, reads input, writes scaled\n";

#[test]
fn each_part_submits_the_same_launches_to_other_streams_and_no_event() {
    let on = |launch: &str, stream: &str| launch.replace("{}", stream);
    let (legacy, a, b, c) = ("legacy default stream", "A", "B", "C");
    assert_eq!(order(|lanes| lanes.one_stream(7)), on(SPIN, legacy) + &on(ADD, legacy).repeat(4));
    assert_eq!(order(|lanes| lanes.two_streams(7)), on(SPIN, a) + &on(ADD, b).repeat(4));
    assert_eq!(order(|lanes| lanes.legacy_trap(7)), on(SPIN, c) + &on(ADD, legacy).repeat(4));
    assert_eq!(order(|lanes| lanes.two_full_grids()), on(ADD, a).repeat(4) + &on(SCALE, b).repeat(4));
}

#[test]
fn the_streams_are_of_the_kinds_that_the_lesson_is_about() {
    let (_, driver) = driver::with(Driver::new(), || {
        let context = Context::open(0, IMAGES).unwrap();
        let plan = Plan::new(context.card(), 1056, Some(100));
        drop(Lanes::new(&context, plan, &[1.0; 100]).unwrap());
    });
    let made: Vec<_> = driver.calls.iter().filter(|call| call.starts_with("cuStreamCreate")).collect();
    assert_eq!(made, ["cuStreamCreate 1", "cuStreamCreate 1", "cuStreamCreate 0"]);
}

#[test]
fn when_all_is_well_every_gate_passes_and_the_regions_are_the_courses() {
    let (outcome, driver) = driver::with(Driver::new(), || lesson(SMALL));
    let (document, passed) = outcome.unwrap();
    assert!(passed && driver.leaks().is_empty(), "{document}");
    let verdicts: Vec<_> =
        document["gates"].as_array().unwrap().iter().map(|gate| &gate["verdict"]).collect();
    // Three kernels, five ratios, and of three parts the order and the timeline.
    assert_eq!(verdicts, ["pass"; 14]);
    let regions: Vec<_> =
        document["regions"].as_array().unwrap().iter().map(|region| &region["name"]).collect();
    assert_eq!(
        regions,
        [
            "spin-solo",
            "sweep-solo",
            "scale-solo",
            "part1-legacy",
            "part2-two-streams",
            "part3-legacy-trap",
            "part4-two-full-grids"
        ]
    );
    let ms = |region: usize| document["regions"][region]["times"]["median_ms"].as_f64().unwrap();
    // The spin was made to last twice the four sweeps of 0.1 ms.
    for (region, want) in [(0, 0.8), (1, 0.4), (2, 0.4), (3, 1.2), (4, 0.8), (5, 1.2), (6, 0.8)] {
        assert!((ms(region) - want).abs() < 0.01, "region {region} took {} ms", ms(region));
    }
}

#[test]
fn sizes_come_from_the_card_and_what_was_typed_overrides_them() {
    let (outcome, driver) = driver::with(Driver::new(), || lesson("--elems 4096 --spin-steps 5000 --runs 1"));
    let (document, _) = outcome.unwrap();
    // Two waves of what is resident: eight blocks of 256 on each of 132 multiprocessors.
    assert_eq!(document["plan"]["full_blocks"], 2 * 8 * 132);
    assert_eq!(
        (&document["plan"]["elems"], &document["spin_steps"]),
        (&Value::from(4096), &Value::from(5000))
    );
    assert!(driver.calls.iter().any(|call| call.starts_with("cuLaunchKernel 2112x256 ")));
    let card = |l2_bytes| host::submit::Card { l2_bytes, ..card_of_the_tests() };
    assert_eq!(Plan::new(&card(60 << 20), 1, None).elems, 60 << 20);
    assert_eq!(Plan::new(&card(4 << 20), 1, None).elems, 1 << 24);
}

fn card_of_the_tests() -> host::submit::Card {
    driver::with(Driver::new(), || Context::open(0, IMAGES).unwrap().card().clone()).0
}

#[test]
fn a_wrong_element_of_any_kernel_fails_its_gate_and_nothing_is_timed() {
    for (launch, kernel) in [(0, "sweep_add"), (1, "sweep_scale"), (2, "spin_lcg")] {
        let spoiled = Driver { spoiled_launch: Some(launch), ..Driver::new() };
        let (outcome, driver) = driver::with(spoiled, || lesson(SMALL));
        let (document, passed) = outcome.unwrap();
        assert!(!passed && driver.leaks().is_empty());
        let gate = &document["gates"][launch];
        assert_eq!(gate["verdict"], "fail");
        assert!(
            gate["sentence"].as_str().unwrap().starts_with(&format!("{kernel} wrong at 17: got ")),
            "{gate}"
        );
        assert_eq!(document["regions"], Value::Array(Vec::new()));
    }
}

#[test]
fn a_spin_that_somebody_folded_and_streams_that_do_not_overlap_are_found() {
    let folded = Driver { folds_the_spin: true, ..Driver::new() };
    let (outcome, _) = driver::with(folded, || lesson("--elems 5000 --spin-steps 100000 --runs 1"));
    let (document, passed) = outcome.unwrap();
    assert!(!passed);
    assert!(document["gates"][3]["sentence"].as_str().unwrap().contains("folded the spin"));

    let (outcome, _) = driver::with(Driver { one_at_a_time: true, ..Driver::new() }, || lesson(SMALL));
    let (document, passed) = outcome.unwrap();
    assert!(!passed);
    let verdicts: Vec<_> = (3..8).map(|gate| document["gates"][gate]["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["pass", "fail", "fail", "pass", "pass"]);
}
