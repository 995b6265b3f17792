//! `host new`: what it writes, what it refuses, and (ignored, for CI) that the project builds, runs and can be repaired.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty folder with a space in its path.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("streamlab {name} {}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn new(args: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_host")).arg("new").arg(dir).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file below a folder, with its text.
fn files(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_new_project_is_the_example_with_another_name_and_the_labs_path() {
    let folder = Folder::new("new");
    let dir = folder.0.join("mine");
    assert!(new(&[], &dir).status.success());
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/own_program");
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let mut want = files(&example);
    want.retain(|(name, _)| !name.starts_with("target") && name != "Cargo.lock" && name != "timeline.html");
    for (_, text) in &mut want {
        let crates = lab.join("crates/").to_string_lossy().into_owned();
        *text = text
            .replace("\"../../../crates/", "\"../../crates/")
            .replace("\"../../crates/", &format!("\"{crates}"));
        *text = text.replace("own_program", "mine");
    }
    assert_eq!(files(&dir), want);
    let main = fs::read_to_string(dir.join("src/main.rs")).unwrap();
    assert!((50..=75).contains(&main.lines().count()), "about 60 lines, not {}", main.lines().count());
}

#[test]
fn with_git_it_depends_on_the_address() {
    let folder = Folder::new("git");
    let dir = folder.0.join("mine");
    assert!(new(&["--git", "https://host/lab"], &dir).status.success());
    let manifests = fs::read_to_string(dir.join("Cargo.toml")).unwrap()
        + &fs::read_to_string(dir.join("kernels/Cargo.toml")).unwrap();
    assert_eq!(manifests.matches("{ git = \"https://host/lab\" }").count(), 4, "{manifests}");
    assert!(!manifests.contains("../"));
}

#[test]
fn what_cannot_be_a_project_is_refused_in_one_line_and_nothing_is_left() {
    let folder = Folder::new("refused");
    fs::write(folder.0.join("file"), "mine").unwrap();
    let dirs = [
        folder.0.clone(),
        folder.0.join("file"),
        folder.0.join("1st"),
        folder.0.join("kernels"),
        "/proc/x".into(),
    ];
    for dir in dirs {
        let refused = new(&[], &dir);
        assert_eq!(refused.status.code(), Some(2), "{dir:?}");
        assert_eq!(said(&refused).lines().count(), 1, "{}", said(&refused));
        assert!(said(&refused).starts_with("error: ") && refused.stdout.is_empty());
    }
    assert_eq!(files(&folder.0), [("file".to_owned(), "mine".to_owned())]);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
#[ignore = "builds a project from nothing: minutes"]
fn the_project_runs_names_the_missing_edge_and_is_repaired_by_the_printed_repair() {
    let folder = Folder::new("run");
    let dir = folder.0.join("mine");
    assert!(new(&[], &dir).status.success());
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/own-program");
    let run = |schedule: &str| {
        let output = Command::new(env!("CARGO"))
            .args(["run", "-q"])
            .current_dir(&dir)
            .env("CARGO_TARGET_DIR", &target)
            .env("STREAMLAB_DEVICE", "virtual:h200")
            .env("STREAMLAB_SCHEDULE", schedule)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let source = fs::read_to_string(dir.join("src/main.rs")).unwrap();
    let line = |words: &str| 1 + source.lines().position(|line| line.contains(words)).unwrap();
    let (record, launch) =
        ("        a.record(&squared)?;\n", "        a.launch(config, kernels::square(&input, &squares))?;\n");

    let flawed = run("earliest");
    assert_eq!(flawed.matches("missing edge from").count(), 1, "{flawed}");
    for at in [line("kernels::square("), line("kernels::add("), line("a.record("), line("b.wait(")] {
        assert!(flawed.contains(&format!("src/main.rs:{at}")), "line {at} is not in {flawed}");
    }
    assert!(flawed.contains("repair: record `squared` after (1) and before the wait"));
    assert!(fs::read_to_string(dir.join("timeline.html")).unwrap().contains("</html>"));
    assert!(!run("late").contains("\n0 of 1048576 sums"), "late, the race is lost");

    let repaired = source.replace(record, "").replace(launch, &format!("{launch}{record}"));
    assert_ne!(repaired, source);
    fs::write(dir.join("src/main.rs"), repaired).unwrap();
    for schedule in ["earliest", "late"] {
        let text = run(schedule);
        assert!(text.contains("no missing edges") && text.contains("\n0 of 1048576 sums"), "{text}");
    }
}
