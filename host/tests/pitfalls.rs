//! The pitfalls through the `host` command, on a virtual card.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

use host::lesson::pitfalls::PITFALLS;
use serde_json::Value;

fn host(arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_host");
    Command::new(program).args(arguments.split_whitespace()).output().unwrap()
}

fn document(arguments: &str) -> (Value, Option<i32>) {
    let output = host(&format!("pitfalls --json {arguments}"));
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

#[test]
fn every_pitfall_is_shown_on_every_virtual_card_and_in_both_schedules() {
    for card in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let (document, code) = document(&format!("--order deny --device {card}"));
        assert_eq!(code, Some(0), "{card}: {}", document["gates"]);
        let names: Vec<_> = PITFALLS.iter().map(|pitfall| pitfall.name).collect();
        let shown: Vec<_> = document["pitfalls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(shown, names);
    }
}

#[test]
fn a_flawed_program_has_the_edges_missing_that_were_predicted_and_its_repaired_twin_none() {
    let (document, _) = document("--device virtual");
    for looked in document["missing_edges"].as_array().unwrap() {
        let name = looked["order"].as_str().unwrap();
        let missing =
            PITFALLS.iter().find(|pitfall| pitfall.name == name).map_or(0, |pitfall| pitfall.missing);
        assert_eq!(looked["edges"].as_array().unwrap().len(), missing, "{name}");
        assert!(missing == 0 || looked["edges"][0]["report"].as_str().unwrap().contains("cause: "), "{name}");
    }
}

#[test]
fn one_of_them_is_shown_alone_by_its_name_and_another_name_is_refused_with_the_list() {
    let (document, code) = document("host-parked --device virtual");
    assert_eq!((code, document["pitfalls"].as_array().unwrap().len()), (Some(0), 1));
    let output = host("pitfalls host-packed --device virtual");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1));
    assert!(error.contains("host-packed") && error.contains("host-parked"), "{error}");
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_pitfall_is_shown() {
    let (document, code) = document("--order deny --device gpu");
    assert_eq!(code, Some(0), "{}", document["gates"]);
}
