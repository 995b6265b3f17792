//! What the tests share: a card, a lesson as it was typed, and its document.

use clap::Parser;
use host::args::{Cli, Command, Repeat};
use host::lesson::{Lesson, Outcome};
use host::report::Report;
use serde_json::Value;

/// What was typed behind `host`.
pub fn parse(typed: &str) -> Command {
    Cli::try_parse_from(["host"].into_iter().chain(typed.split_whitespace())).unwrap().command
}

/// What a lesson found.
pub struct Found {
    pub document: Value,
    pub passed: bool,
    pub slices: Vec<Vec<String>>,
}

impl Found {
    /// Each gate's verdict and sentence.
    pub fn gates(&self) -> Vec<(&str, &str)> {
        let gates = self.document["gates"].as_array().unwrap();
        gates.iter().map(|gate| (word(&gate["verdict"]), word(&gate["sentence"]))).collect()
    }

    /// The verdict of the one gate whose sentence begins so.
    #[track_caller]
    pub fn verdict(&self, start: &str) -> &str {
        let mut found = self.gates().into_iter().filter(|(_, sentence)| sentence.starts_with(start));
        let (verdict, _) = found.next().unwrap_or_else(|| panic!("no gate `{start}`: {:#?}", self.gates()));
        assert_eq!(found.next(), None, "two gates begin with `{start}`");
        verdict
    }

    /// How many edges were missing in a submission, and how many were expected.
    #[track_caller]
    pub fn missing(&self, order: &str) -> (usize, u64) {
        let all = self.document["missing_edges"].as_array().unwrap();
        let one = all.iter().find(|one| one["order"] == order).unwrap_or_else(|| panic!("no `{order}`"));
        (one["edges"].as_array().unwrap().len(), one["expected"].as_u64().unwrap())
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Runs a lesson as the program does, without its text.
pub fn run(mut lesson: impl Lesson, is_virtual: bool) -> Found {
    let common = lesson.common();
    common.repeat = common.repeat.or(if is_virtual { Repeat::VIRTUAL } else { Repeat::STANDARD });
    let common = common.clone();
    crate::card::on_card(&common, |context| {
        let report = Report::new(true).quiet().virtual_time(is_virtual);
        let findings = lesson.run(context, report).unwrap();
        let bands = findings.timeline().map(|timeline| timeline.bands.clone()).unwrap_or_default();
        Found {
            document: serde_json::to_value(&findings).unwrap(),
            passed: findings.passed(),
            slices: bands
                .iter()
                .map(|band| band.slices.iter().map(|slice| slice.name.clone()).collect())
                .collect(),
        }
    })
}
