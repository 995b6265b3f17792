//! The program as a person meets it, without a GPU: exit codes, one line for each fault, nothing on standard output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use host::lessons::LESSONS;
use program::{host_with, text};
use serde_json::Value;

/// Runs the program with a loader path whose `libcuda.so.1` is no driver: the outcome does not depend on the machine's GPUs.
fn host(arguments: &str) -> Output {
    host_with(arguments, &[("LD_LIBRARY_PATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver"))])
}

/// What was typed is bad input: exit code 2, one line that names it, and nothing on standard output.
#[track_caller]
fn refused(arguments: &str, names: &str) {
    let output = host(arguments);
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{arguments}: {error}");
    assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error}");
    assert!(error.contains(names), "{error} does not name {names}");
}

/// An empty folder for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("streamlab-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Small, and still long enough for its kernels that their overlap shows.
const SMALL: &str = "--elems 65536 --iters 1024";

#[test]
fn bad_input_is_one_line_that_names_it_and_exit_code_2() {
    for (arguments, names) in [
        ("forkjoin --iters 0", "'--iters"),
        ("forkjoin --elems 1e6", "1e6"),
        ("forkjoin --branches 4", "--branches"),
        ("forkjoin --device virtual:h100", "virtual:t4"),
        ("forkjoin --threads 0", "--threads"),
        ("forkjoin --schedule never", "never"),
        ("forkjion", "'forkjoin'"),
        ("child no-such-scene", "no-such-scene"),
        ("forkjoin --device gpu", "libcuda.so.1"),
        ("forkjoin --device 0 --json", "libcuda.so.1"),
    ] {
        refused(arguments, names);
    }
}

#[test]
fn a_timeline_that_cannot_be_written_is_refused_before_anything_runs_and_leaves_nothing() {
    let folder = folder("no-timeline");
    let path = folder.display();
    for file in [format!("{path}/a.png"), format!("{path}/svg"), format!("{path}/missing/a.svg")] {
        refused(&format!("forkjoin --device virtual --timeline {file}"), &file);
    }
    for lesson in LESSONS.iter().filter(|lesson| !lesson.draws) {
        refused(&format!("{} --device virtual --timeline {path}/a.svg", lesson.name), "--timeline");
    }
    // A lesson that ends early draws nothing.
    refused(&format!("forkjoin --device gpu --timeline {path}/a.svg"), "libcuda.so.1");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn without_a_gpu_a_lesson_runs_on_a_virtual_one_and_says_so() {
    let output = host(&format!("forkjoin {SMALL}"));
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{out}");
    assert!(out.lines().next().unwrap().contains("libcuda.so.1"), "{out}");
    let timed: Vec<_> = out.lines().filter(|line| line.contains(" ms (min ")).collect();
    assert!(timed.len() == 2 && timed.iter().all(|line| line.ends_with(" of virtual time")), "{out}");
    let document: Value = serde_json::from_slice(&host(&format!("forkjoin {SMALL} --json")).stdout).unwrap();
    assert_eq!((&document["lesson"], &document["clock"]), (&"forkjoin".into(), &"virtual".into()));
}

#[test]
fn a_document_is_the_same_to_the_byte_in_every_run_with_any_number_of_threads() {
    for device in ["virtual", "virtual --schedule late", "virtual:t4"] {
        let documents = [1, 2, 3].map(|threads| {
            let output = host(&format!("forkjoin --device {device} {SMALL} --json --threads {threads}"));
            assert_eq!(output.status.code(), Some(0));
            text(&output.stdout)
        });
        assert!(documents.iter().all(|other| *other == documents[0]), "{device}");
    }
}

#[test]
fn a_timeline_is_drawn_in_the_form_that_its_name_asks_for_and_is_the_same_in_every_run() {
    let folder = folder("timeline");
    for (name, begins) in [("a.svg", "<svg"), ("a.html", "<!doctype html>"), ("a.json", "{")] {
        let path = folder.join(name);
        let drawings = [1, 2].map(|threads| {
            let timeline = format!("--threads {threads} --timeline {}", path.display());
            let output = host(&format!("forkjoin --device virtual {SMALL} {timeline}"));
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            fs::read_to_string(&path).unwrap()
        });
        assert!(drawings[0].trim_start().starts_with(begins), "{name}");
        assert!(drawings[0].contains("broken order") && drawings[0].contains("grind_fma"), "{name}");
        assert_eq!(drawings[0], drawings[1], "{name}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_list_has_every_lesson_with_its_line_and_nothing_else() {
    let output = host("list");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    let names: Vec<_> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, LESSONS.iter().map(|lesson| lesson.name).collect::<Vec<_>>());
    assert!(out.lines().all(|line| line.split_whitespace().count() > 3), "{out}");
}

#[test]
fn the_doctor_names_what_is_found_and_what_is_missing() {
    let output = host("doctor");
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let has = |what: &str, state: &str, names: &str| {
        let line = out.lines().find(|line| line.starts_with(what)).unwrap();
        assert!(line.contains(state) && line.contains(names), "{line}");
    };
    has("kernels", "found", "sm_90");
    has("driver", "missing", "libcuda.so.1");
    has("device", "missing", "virtual");
}

#[test]
fn help_lists_the_lessons_and_is_not_an_error() {
    let output = host("--help");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    assert!(LESSONS.iter().all(|lesson| out.contains(lesson.name)) && !out.contains("child"), "{out}");
    let output = host("");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("forkjoin"));
}
