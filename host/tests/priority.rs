//! The priority lesson on virtual cards and, where there is one, on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use clap::Parser;
use host::args::{Cli, Command, Priority, Repeat, standard};
use host::lesson::{Outcome, priority};
use host::report::Report;
use host::submit::{Context, PriorityRange, Stream, StreamKind};
use serde_json::Value;

fn options(typed: &str) -> Result<Priority, clap::Error> {
    let words = ["host", "priority"].into_iter().chain(typed.split_whitespace());
    Cli::try_parse_from(words).map(|cli| match cli.command {
        Command::Priority(options) => options,
        other => panic!("{other:?}"),
    })
}

fn on_card<T>(typed: &str, test: impl FnOnce(&Context, &Priority) -> T) -> T {
    let options = options(typed).unwrap();
    card::on_card(&options.common, |context| test(context, &options))
}

fn lesson(typed: &str) -> (Value, bool) {
    on_card(typed, |context, options| {
        let findings = priority::run(context, options, Report::new(true).quiet()).unwrap();
        (serde_json::to_value(&findings).unwrap(), findings.passed())
    })
}

fn check_both_orders(typed: &str, waves: f64) {
    let (document, passed) = lesson(typed);
    assert!(passed, "{document}");
    let gates = document["gates"].as_array().unwrap();
    assert!(gates.iter().all(|gate| gate["verdict"] == "pass"), "{document}");
    // Four priorities, two results, two orders without a missing edge, and what the timeline shows of each.
    assert_eq!(gates.len(), 4 + 2 + 2 + 3);
    let us = |order: usize, what: &str| document["orders"][order][what].as_f64().unwrap();
    let wave = us(0, "full_end_us") / waves;
    assert!(us(0, "small_start_us") > (waves - 1.0) * wave, "{document}");
    assert!((0.5 * wave..1.5 * wave).contains(&us(1, "small_start_us")), "{document}");
}

#[test]
fn with_a_priority_a_small_kernel_waits_for_one_wave_and_without_for_all() {
    check_both_orders("--device virtual:h200 --warmups 0 --steps 1000 --order deny", 4.0);
    check_both_orders("--device virtual:t4 --warmups 0 --order deny", 4.0);
    check_both_orders("--device virtual:t4 --warmups 0 --waves 7 --order deny", 7.0);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_with_a_priority_a_small_kernel_waits_for_one_wave_and_without_for_all() {
    check_both_orders("--device gpu --order deny", 4.0);
}

#[test]
fn run_late_there_is_no_claim_that_fails() {
    let (document, passed) = lesson("--device virtual:t4 --schedule late --warmups 0 --steps 1000");
    assert!(passed, "{document}");
}

#[test]
fn the_document_is_the_same_in_every_run() {
    let typed = "--device virtual:t4 --warmups 0 --steps 1000 --threads";
    let documents = [1, 2].map(|threads| lesson(&format!("{typed} {threads}")).0);
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn a_stream_made_without_a_priority_goes_last_and_a_default_stream_takes_none() {
    on_card("--device virtual", |context, _| {
        let PriorityRange { least, greatest } = context.priorities().unwrap();
        assert!(greatest < least);
        let plain = Stream::new(context, "plain", StreamKind::Blocking).unwrap();
        assert_eq!(plain.priority().unwrap(), least);
        let legacy = Stream::with_priority(context, "legacy", StreamKind::Legacy, greatest).unwrap();
        assert_eq!(legacy.priority().unwrap(), least);
        let urgent = Stream::with_priority(context, "urgent", StreamKind::Blocking, greatest).unwrap();
        assert_eq!(urgent.priority().unwrap(), greatest);
    });
}

#[test]
fn too_few_waves_to_tell_the_orders_apart_are_refused() {
    let refusal = options("--waves 2").unwrap_err();
    assert_eq!(refusal.exit_code(), 2);
    assert!(refusal.to_string().contains("'--waves"), "{refusal}");
    let standard: Priority = standard(Repeat::VIRTUAL);
    assert_eq!((standard.waves, standard.steps), (4, 5000));
}
