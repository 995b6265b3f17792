//! The exercises on a virtual card: an untouched file is told what it lacks, a solution passes, and each plausible wrong answer is
//! told by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use std::process::{Command as Process, Output};

use clap::{Parser, ValueEnum};
use host::args::{Action, Check, Cli, Command, Name};
use host::exercise::{self, Findings, fork2, of, pdl, pipeline, streams};
use host::lesson::Outcome;
use host::report::Report;
use host::submit::{Attributes, Context, Error};
use serde_json::Value;

fn checked(
    name: &str,
    card: &str,
    check: impl FnOnce(&Context, &Check, Report) -> Result<Findings, Error>,
) -> (Value, bool) {
    let runs = if card == "gpu" { "" } else { "--runs 1 --warmups 0" };
    let typed = format!("host exercise check {name} --device {card} {runs}");
    let Command::Exercise(asked) = Cli::try_parse_from(typed.split_whitespace()).unwrap().command else {
        panic!("not exercise")
    };
    let Action::Check(options) = asked.action else { panic!("not check") };
    card::on_card(&options.common, |context| {
        let findings = check(context, &options, Report::new(true).quiet()).unwrap();
        (serde_json::to_value(&findings).unwrap(), findings.passed())
    })
}

macro_rules! checked {
    ($name:ident, $card:expr, $submit:expr) => {
        checked(stringify!($name), $card, |context, options, report| {
            host::exercise::check::<$name::Lab<'_>>(context, options, report, $submit)
        })
    };
}

macro_rules! fails {
    ($name:ident, $submit:expr, $says:expr) => {
        let (document, passed) = checked!($name, "virtual:h200", $submit);
        let said = format!("{} {}", document["gates"], document["missing_edges"]);
        assert!(!passed, "{said}");
        for says in $says {
            assert!(said.contains(says), "`{says}` is not in {said}");
        }
    };
}

#[test]
fn each_solution_passes_on_every_card_that_can_run_it() {
    for card in ["virtual:h200", "virtual:t4"] {
        for (document, passed) in [
            checked!(fork2, card, fork2::solution::submit),
            checked!(streams, card, streams::solution::submit),
            checked!(pipeline, card, pipeline::solution::submit),
        ] {
            assert!(passed, "{card}: {}", document["gates"]);
        }
    }
    let (document, passed) = checked!(pdl, "virtual:h200", pdl::solution::submit);
    assert!(passed, "{}", document["gates"]);
}

#[test]
fn a_solution_is_as_deep_as_predicted_and_not_much_slower_than_its_critical_path() {
    let (document, _) = checked!(fork2, "virtual:h200", fork2::solution::submit);
    assert_eq!((&document["depth"], &document["prediction"]["serial_depth"]), (&3.into(), &5.into()));
    let ms = |times: &str| document[times]["median_ms"].as_f64().unwrap();
    let ratio = ms("serial_times") / ms("your_times");
    assert!((1.5..5.0 / 3.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_dropped_wait_or_a_moved_record_is_a_missing_edge_with_its_cause() {
    fails!(
        fork2,
        |lab| {
            lab.upstream(&lab.main)?;
            lab.main.record(&lab.fork)?;
            lab.left.wait(&lab.fork)?;
            [0, 1].into_iter().try_for_each(|branch| lab.branch(branch, &lab.left))?;
            lab.left.record(&lab.left_done)?;
            [2, 3].into_iter().try_for_each(|branch| lab.branch(branch, &lab.right))?;
            lab.right.record(&lab.right_done)?;
            lab.main.wait(&lab.left_done)?;
            lab.main.wait(&lab.right_done)?;
            lab.join(&lab.main)
        },
        [
            "missing edge from `main` to `right`",
            "no event leads from `main` to `right`",
            "host/tests/exercises.rs:"
        ]
    );
    fails!(
        fork2,
        |lab| {
            lab.main.record(&lab.fork)?;
            lab.upstream(&lab.main)?;
            branches(lab)?;
            lab.join(&lab.main)
        },
        [
            "missing edge from `main` to `left`",
            "missing edge from `main` to `right`",
            "before (1) was submitted"
        ]
    );
    fails!(
        fork2,
        |lab| {
            lab.upstream(&lab.main)?;
            lab.main.record(&lab.fork)?;
            lab.right.record(&lab.right_done)?;
            branches(lab)?;
            lab.right.record(&lab.fork)?;
            lab.main.wait(&lab.left_done)?;
            lab.join(&lab.main)
        },
        ["missing edge from `right` to `main`"]
    );
    fails!(
        streams,
        |lab| {
            lab.first(&lab.a)?;
            lab.second(&lab.b)?;
            lab.both(&lab.b)
        },
        ["missing edge from `a` to `b`"]
    );
}

/// Both branch streams, without their done events.
fn branches(lab: &fork2::Lab<'_>) -> Result<(), Error> {
    for (stream, branches, done) in [(&lab.left, [0, 1], Some(&lab.left_done)), (&lab.right, [2, 3], None)] {
        stream.wait(&lab.fork)?;
        branches.into_iter().try_for_each(|branch| lab.branch(branch, stream))?;
        done.map_or(Ok(()), |done| stream.record(done))?;
    }
    Ok(())
}

#[test]
fn what_is_right_and_too_deep_is_told_its_path() {
    fails!(
        fork2,
        |lab| {
            lab.upstream(&lab.main)?;
            (0..4).try_for_each(|branch| lab.branch(branch, &lab.main))?;
            lab.join(&lab.main)
        },
        ["5 grind kernels deep", "`branch3` on `main`", "where 3 are enough"]
    );
    fails!(
        streams,
        |lab| {
            lab.first(&lab.blocking)?;
            lab.second(&lab.legacy)?;
            lab.both(&lab.legacy)
        },
        ["2 grind kernels deep (`first` on `blocking`, `second` on `legacy`)"]
    );
}

#[test]
fn a_launch_too_few_or_too_many_and_a_wait_of_the_host_are_told_first() {
    fails!(fork2, |lab| lab.upstream(&lab.main), ["`branch0` is never written: `lab.branch(0, stream)?`"]);
    fails!(
        streams,
        |lab| {
            lab.first(&lab.a)?;
            lab.first(&lab.a)?;
            lab.second(&lab.a)?;
            lab.both(&lab.a)
        },
        ["`first` is written 2 times, where 1 is right"]
    );
    fails!(
        streams,
        |lab| {
            lab.first(&lab.a)?;
            lab.second(&lab.b)?;
            lab.a.synchronize()?;
            lab.both(&lab.b)
        },
        ["the host waits at host/tests/exercises.rs:"]
    );
}

#[test]
fn an_attribute_on_the_wrong_launch_or_without_a_trigger_is_told() {
    const EARLY: Attributes = Attributes { programmatic_stream_serialization: Some(true), priority: None };
    fails!(
        pdl,
        |lab| {
            lab.stream.launch(&lab.plain(), lab.prepare())?;
            lab.stream.launch(&lab.plain().with(EARLY), lab.produce())?;
            lab.stream.launch(&lab.plain().with(EARLY), lab.combine())
        },
        ["missing edge within `s`", "its kernel has no griddepcontrol.wait"]
    );
    fails!(
        pdl,
        |lab| {
            lab.stream.launch(&lab.plain(), lab.prepare())?;
            lab.stream.launch(&lab.plain(), lab.produce_without_trigger())?;
            lab.stream.launch(&lab.plain().with(EARLY), lab.combine())
        },
        ["after the end of the one ahead of it: it takes a trigger there"]
    );
}

#[test]
fn chunks_that_share_memory_on_two_streams_and_a_result_that_stays_on_the_card_are_told() {
    fails!(
        pipeline,
        |lab| {
            for chunk in 0..pipeline::CHUNKS {
                let stream = &lab.streams[chunk / 2];
                lab.copy_in(chunk, stream)?;
                lab.compute(chunk, stream)?;
                lab.copy_out(chunk, stream)?;
            }
            Ok(())
        },
        ["missing edge from `even` to `odd`", "of `arrived0`"]
    );
    fails!(
        pipeline,
        |lab| {
            for chunk in 0..pipeline::CHUNKS {
                let stream = &lab.streams[chunk % 2];
                lab.copy_in(chunk, stream)?;
                lab.compute(chunk, stream)?;
                if chunk > 0 {
                    lab.copy_out(chunk, stream)?;
                }
            }
            Ok(())
        },
        ["`result0` is never written"]
    );
}

fn host(arguments: &str) -> Output {
    Process::new(env!("CARGO_BIN_EXE_host")).args(arguments.split_whitespace()).output().unwrap()
}

/// What the files say as they are in the repository; whoever has edited one sees the test fail.
#[test]
fn an_untouched_file_fails_with_one_line_that_says_what_is_missing() {
    for (name, says) in [
        ("fork2", "`branch0` is never written"),
        ("streams", "the critical path is 2 grind kernels deep"),
        ("pdl", "after the end of the one ahead of it"),
        ("pipeline", "the critical path is 12 copies and kernels deep"),
    ] {
        let output = host(&format!("exercise check {name} --device virtual"));
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let failed: Vec<_> = said.lines().filter(|line| line.starts_with("FAIL: ")).collect();
        assert!(failed.len() == 1 && failed[0].contains(says), "{said}");
        assert!(said.contains(&format!("edit exercises/{name}.rs and check again")), "{said}");
    }
}

#[test]
fn hints_are_numbered_and_a_solution_is_the_file_that_passes() {
    for name in Name::value_variants() {
        let exercise = of(*name);
        for number in 1..=exercise.hints.len() {
            let hint = exercise::tell(&Action::Hint { name: *name, number }).unwrap();
            assert!(
                hint.ends_with(exercise.hints[number - 1]) && hint.starts_with(&format!("hint {number} of "))
            );
        }
        for number in [0, exercise.hints.len() + 1] {
            assert!(exercise::tell(&Action::Hint { name: *name, number }).is_err());
        }
        let output = host(&format!("exercise solution {}", exercise.name));
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), exercise.solution.trim_end());
    }
    let output = host("exercise hint fork2 9");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), error.as_str()),
        (Some(2), "error: fork2 has 3 hints, numbered from 1\n")
    );
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_each_solution_passes() {
    for (document, passed) in [
        checked!(fork2, "gpu", fork2::solution::submit),
        checked!(streams, "gpu", streams::solution::submit),
        checked!(pipeline, "gpu", pipeline::solution::submit),
        checked!(pdl, "gpu", pdl::solution::submit),
    ] {
        assert!(passed, "{}", document["gates"]);
    }
}
