//! Every file in `flagged` is a program with the report that it must get, and its namesake in `clean` is the same program
//! repaired, which must get none. `BLESS=1 cargo test` writes the reports anew: read what it wrote.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Between a program and its report.
const LINE: &str = "----\n";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn texts(name: &str) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn every_flagged_program_gets_its_report() {
    for (name, text) in texts("flagged") {
        let (program, expected) = text.split_once(LINE).unwrap_or((&text, ""));
        let report = support::report(&support::program(&name, program));
        assert!(!report.is_empty(), "{name} is not flagged");
        if std::env::var_os("BLESS").is_some() {
            let path = folder("flagged").join(&name).with_extension("txt");
            fs::write(path, format!("{program}{LINE}{report}")).unwrap();
        } else {
            assert_eq!(report, expected, "{name}");
        }
    }
}

#[test]
fn no_clean_program_gets_a_report() {
    for (name, text) in texts("clean") {
        assert_eq!(support::report(&support::program(&name, &text)), "", "{name}");
    }
}

#[test]
fn every_program_has_its_twin_and_every_rule_its_programs() {
    let names: Vec<String> = texts("flagged").into_keys().collect();
    assert_eq!(names, texts("clean").into_keys().collect::<Vec<_>>());
    let rules = fs::read_to_string(folder("../src/edges.rs")).unwrap();
    let head: String = rules.lines().take_while(|line| line.starts_with("//!")).collect();
    for rule in head.split("//! - ").skip(1) {
        let (_, programs) = rule.rsplit_once('(').unwrap();
        for name in programs.split('`').skip(1).step_by(2) {
            assert!(names.iter().any(|known| known == name), "no program {name}, for the rule: {rule}");
        }
    }
}

#[test]
fn every_program_that_stands_for_a_pitfall_is_there() {
    let names: Vec<String> = texts("flagged").into_keys().collect();
    let table = fs::read_to_string(folder("pitfalls.md")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let programs = row.split('|').nth(2).unwrap();
        for name in programs.split('`').skip(1).step_by(2) {
            assert!(names.iter().any(|known| known == name), "no program {name}, for the pitfall: {row}");
        }
    }
}
