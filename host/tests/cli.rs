//! The program as a person meets it, without a card: exit codes, one line for each fault, nothing on standard output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// The program, with a loader path whose `libcuda.so.1` is no driver, so that the outcome is the same on a machine
/// with a GPU.
fn host(arguments: &str) -> Output {
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver");
    Command::new(env!("CARGO_BIN_EXE_host"))
        .args(arguments.split_whitespace())
        .env("LD_LIBRARY_PATH", fake)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn without_a_driver_a_lesson_says_what_was_looked_for_and_what_to_do() {
    for arguments in ["forkjoin --device gpu", "forkjoin --device 0 --json"] {
        let output = host(arguments);
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(out, "");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("error: no CUDA driver") && error.contains("libcuda.so.1"), "{error}");
    }
}

/// Small, and still long enough for its kernels that their overlap shows.
const SMALL: &str = "--elems 65536 --iters 1024";

#[test]
fn without_a_gpu_a_lesson_runs_on_a_virtual_one_and_says_so() {
    let output = host(&format!("forkjoin {SMALL}"));
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{out}");
    let first = out.lines().next().unwrap();
    assert!(first.starts_with("no GPU to use: a virtual one takes its place (no CUDA driver"), "{out}");
    assert!(out.contains("card: NVIDIA H200 (virtual)"), "{out}");
    let timed: Vec<_> = out.lines().filter(|line| line.contains(" ms (min ")).collect();
    assert_eq!(timed.len(), 2, "{out}");
    assert!(timed.iter().all(|line| line.ends_with(" of virtual time")), "{out}");
    assert!(out.contains("\nPASS: serial "), "{out}");
    assert!(
        out.contains("PASS: broken order: 4 missing edges") && out.contains("\nmissing edge from `s0`"),
        "{out}"
    );
}

#[test]
fn a_document_is_the_same_to_the_byte_in_every_run_with_any_number_of_threads() {
    for card in ["--device virtual", "--device virtual --schedule late", "--device virtual:t4"] {
        let documents: Vec<_> = [1, 2, 3]
            .map(|threads| host(&format!("forkjoin {card} {SMALL} --json --threads {threads}")))
            .into_iter()
            .map(|output| text(&output.stdout))
            .collect();
        let document: Value = serde_json::from_str(&documents[0]).unwrap();
        assert_eq!(
            (&document["clock"], &document["lesson"]),
            (&Value::from("virtual"), &Value::from("forkjoin"))
        );
        assert!(documents.iter().all(|other| *other == documents[0]), "{card}");
    }
}

/// A folder of its own for a test's files.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("streamlab-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_timeline_is_drawn_in_the_form_that_its_name_asks_for_and_is_the_same_in_every_run() {
    let folder = folder("timeline");
    for (name, begins) in [("a.svg", "<svg"), ("a.html", "<!doctype html>"), ("a.json", "{")] {
        let drawings = [1, 2].map(|threads| {
            let path = folder.join(name);
            let output = host(&format!(
                "forkjoin --device virtual {SMALL} --threads {threads} --timeline {}",
                path.display()
            ));
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            fs::read_to_string(&path).unwrap()
        });
        assert!(drawings[0].trim_start().starts_with(begins), "{name}");
        assert!(drawings[0].contains("broken order") && drawings[0].contains("grind_fma"), "{name}");
        assert_eq!(drawings[0], drawings[1], "{name}");
    }
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.count(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_timeline_that_cannot_be_written_is_refused_before_anything_runs_and_leaves_nothing() {
    let folder = folder("no-timeline");
    let path = folder.display();
    for (file, says) in [
        (format!("{path}/a.png"), "ends in .svg, .html or .json"),
        (format!("{path}/svg"), "ends in .svg, .html or .json"),
        (format!("{path}/missing/a.svg"), "No such file or directory"),
    ] {
        let output = host(&format!("forkjoin --device virtual --timeline {file}"));
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!((text(&output.stdout).as_str(), error.lines().count()), ("", 1), "{error}");
        assert!(error.contains(says) && error.contains(&file), "{error}");
    }
    // A lesson that ends early draws nothing.
    let output = host(&format!("pdl --device virtual:t4 --timeline {path}/a.svg"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn run_late_the_broken_order_is_wrong_everywhere_and_the_right_ones_nowhere() {
    let counts = [1, 2].map(|threads| {
        let output =
            host(&format!("forkjoin --device virtual --schedule late {SMALL} --json --threads {threads}"));
        assert_eq!(output.status.code(), Some(0));
        let document: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(document["diamond_result"]["mismatches"], 0);
        document["broken_order"]["wrong_elements"].as_u64().unwrap()
    });
    assert_eq!(counts, [65_536; 2]);
}

#[test]
fn the_virtual_t4_refuses_what_a_t4_refuses() {
    let output = host("pdl --device virtual:t4");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("needs compute capability 9.0 or newer: Tesla T4 (virtual) has 7.5"), "{error}");
}

#[test]
fn bad_input_is_one_line_that_names_it_and_exit_code_2() {
    for (arguments, says) in [
        ("forkjoin --iters 0", "'--iters"),
        ("forkjoin --elems 1e6", "1e6"),
        ("forkjoin --branches 17", "1..=16"),
        ("forkjoin --nonsense", "--nonsense"),
        ("forkjoin --device virtual:h100", "virtual:t4"),
        ("forkjoin --threads 0", "--threads"),
        ("forkjion", "similar subcommand exists: 'forkjoin'"),
    ] {
        let output = host(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert_eq!((text(&output.stdout).as_str(), error.lines().count()), ("", 1), "{error}");
        assert!(error.starts_with("error: ") && error.contains(says), "{error}");
    }
}

#[test]
fn the_list_has_every_lesson_with_its_line_and_nothing_else() {
    let output = host("list");
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    let names: Vec<_> = out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names[..3], ["forkjoin", "streams", "pdl"]);
    assert!(!names.contains(&"list") && !names.contains(&"bench"), "{out}");
    assert!(out.lines().all(|line| line.split_whitespace().count() > 3), "{out}");
}

#[test]
fn the_doctor_says_what_is_missing_and_what_to_do() {
    let output = host("doctor");
    let out = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let line = |what: &str| out.lines().find(|line| line.starts_with(what)).unwrap().to_owned();
    assert!(line("kernels").contains("found") && line("kernels").contains("sm_90"), "{out}");
    assert!(
        line("driver").contains("missing  no CUDA driver") && line("driver").contains("nvidia-smi"),
        "{out}"
    );
    assert!(line("card").contains("missing") && line("card").contains("virtual H200"), "{out}");
    assert!(line("nsys").contains("--timeline"), "{out}");
}

#[test]
fn help_lists_the_lessons_and_is_not_an_error() {
    let output = host("--help");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("forkjoin"));
    let output = host("");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("forkjoin"));
}
