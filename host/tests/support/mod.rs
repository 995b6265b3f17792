//! What the tests of the lessons share: a lesson run by its words, one at a time, and its document.

#![allow(dead_code, reason = "each test binary uses its part of it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use host::cli::{Common, Repeat};
use host::kernels::IMAGES;
use host::lab::{Lab, Outcome, Stop};
use host::lessons::{self, bench};
use host::report::Report;
use host::session;
use serde_json::Value;
use streamlab::{Context, Device, Error, Options};

static DEVICE: Mutex<()> = Mutex::new(());

/// Waits until no other test of this process has a device: the driver's table belongs to the process.
pub fn alone() -> MutexGuard<'static, ()> {
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test with a context, by itself. Every release has to succeed.
pub fn on_device<T>(options: impl Into<Options>, test: impl FnOnce(&Context) -> T) -> T {
    let _alone = alone();
    let context = Context::open(options, IMAGES).expect("the device opens");
    let outcome = test(&context);
    let released = context.finish();
    assert!(released.is_empty(), "{released:?}");
    outcome
}

/// Runs a lesson as it is typed, `forkjoin --device virtual:t4`, and returns its document.
///
/// # Errors
///
/// The error that ended the lesson.
pub fn lesson(typed: &str) -> Result<Value, Error> {
    let _alone = alone();
    lesson_on_open_table(typed)
}

/// The same for a test that has the device to itself already.
pub fn lesson_on_open_table(typed: &str) -> Result<Value, Error> {
    let words: Vec<_> = typed.split_whitespace().collect();
    let lesson = lessons::named(words[0]).unwrap_or(&bench::BENCH);
    let matches = session::command(lesson).try_get_matches_from(words).expect("the words are the lesson's");
    // With `--json` the text goes to standard error, where a test's output belongs.
    let ended = session::run(lesson, &matches, Report::new(true)).expect("the options are the lesson's")?;
    assert!(ended.released.is_empty(), "{:?}", ended.released);
    Ok(serde_json::to_value(&ended.document).expect("a document is JSON"))
}

/// Runs a part of a lesson in a session of its own, on a device.
pub fn in_lab(options: impl Into<Options>, part: impl FnOnce(&mut Lab<'_>) -> Outcome) -> Value {
    on_device(options, |context| {
        let mut lab = Lab::new(context, "test", &common(context.opened()), Report::new(true));
        match part(&mut lab) {
            Ok(()) | Err(Stop::Failed) => {}
            Err(Stop::Error(error)) => panic!("{error}"),
        }
        serde_json::to_value(lab.finish()).expect("a document is JSON")
    })
}

/// What every lesson takes, on this device, with one timed run.
pub fn common(device: Device) -> Common {
    let command = <Common as clap::Args>::augment_args(clap::Command::new("test"));
    let matches = command.try_get_matches_from(["test"]).expect("every option has a default");
    let common = <Common as clap::FromArgMatches>::from_arg_matches(&matches).expect("every option is there");
    Common { device, repeat: Repeat::VIRTUAL, ..common }
}

/// The verdicts of a document by the identifiers of their checks, in order.
pub fn verdicts(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let checks = document["checks"].as_array().expect("a document has checks");
    checks.iter().map(|check| (text(&check["id"]), text(&check["verdict"]))).collect()
}

/// The verdict of one check; empty where the lesson has not come to it.
pub fn verdict(document: &Value, id: &str) -> String {
    let found = verdicts(document).into_iter().find(|(known, _)| known == id);
    found.map(|(_, verdict)| verdict).unwrap_or_default()
}

/// The identifiers of the checks that failed.
pub fn failed(document: &Value) -> Vec<String> {
    verdicts(document).into_iter().filter(|(_, verdict)| verdict == "fail").map(|(id, _)| id).collect()
}
