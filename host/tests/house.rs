//! ARCHITECTURE.md as a test: who may depend on whom, and where `unsafe`, printing and driver names may appear.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of our own crates, what each may depend on in its program (tests aside).
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("cuda_std_macros", &[]),
    ("cuda_std", &["cuda_std_macros"]),
    ("cuda_builder", &[]),
    ("cuda_driver", &[]),
    ("gpu", &["cuda_std"]),
    ("stream_order", &[]),
    ("timeline", &[]),
    ("virtual_gpu", &["cuda_driver"]),
    ("host", &["cuda_builder", "cuda_driver", "cuda_std", "gpu", "stream_order", "timeline", "virtual_gpu"]),
];

/// Lines that a file may have before it is no longer read in one sitting.
const MOST_LINES: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Rust file below `folder` that belongs to the project, with its path from the root.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let name = path.file_name().unwrap().to_string_lossy();
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// A file's code without its comments and its unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Where in `folder`'s code `word` stands, except in files whose path begins with one of `except`.
fn places(folder: &str, word: &str, except: &[&str]) -> Vec<String> {
    let elsewhere = |(name, text): (String, String)| {
        (!except.iter().any(|path| name.starts_with(path)) && code(&text).contains(word)).then_some(name)
    };
    sources(folder).into_iter().filter_map(elsewhere).collect()
}

#[test]
fn our_crates_depend_on_each_other_as_the_table_says() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: Vec<_> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let mut found = BTreeMap::new();
    for package in packages {
        let ours = package["dependencies"].as_array().unwrap().iter().filter(|d| d["kind"] != "dev");
        let mut ours: Vec<_> =
            ours.map(|d| d["name"].as_str().unwrap()).filter(|d| names.contains(d)).collect();
        ours.sort_unstable();
        found.insert(package["name"].as_str().unwrap(), ours);
    }
    let table: BTreeMap<_, _> = MAY_DEPEND_ON.iter().map(|(name, on)| (*name, on.to_vec())).collect();
    assert_eq!(found, table);
}

#[test]
fn every_file_says_what_it_is_and_is_read_in_one_sitting() {
    for folder in ["gpu", "host", "crates", "exercises"] {
        for (name, text) in sources(folder) {
            let is_fixture = name.contains("/tests/fail/") || name.contains("/tests/pass/");
            assert!(is_fixture || text.starts_with("//!"), "{name} does not begin with `//!`");
            let lines = text.lines().count();
            assert!(
                lines <= MOST_LINES,
                "{name} has {lines} lines: which of its ideas deserves a file of its own?"
            );
        }
    }
}

#[test]
fn only_the_submission_layer_is_unsafe_or_names_the_driver() {
    let submit = ["host/src/submit/"];
    for word in ["unsafe ", "cuda_driver::", "cust::", "virtual_gpu::"] {
        assert_eq!(places("host/src", word, &submit), [""; 0], "{word}");
    }
    for (name, text) in sources("host/src/lesson") {
        let code = code(&text);
        let calls = code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| {
            word.strip_prefix("cu")
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        });
        assert_eq!(calls.collect::<Vec<_>>(), [""; 0], "{name} names a driver function");
    }
}

#[test]
fn only_the_report_prints_and_nobody_reads_the_environment_or_the_clock() {
    for word in ["println!", "eprintln!", "print!", "io::stdout", "io::stderr"] {
        assert_eq!(places("host/src", word, &["host/src/report.rs"]), [""; 0], "{word}");
    }
    // A lesson's own program started once more, and the clock of the host, have a small file each.
    let child = "host/src/child.rs";
    let except: [(&str, &[&str]); 6] = [
        ("std::env", &[child]),
        ("env::", &[child]),
        ("process::Command", &[child, "host/src/doctor.rs"]),
        ("Instant::now", &["host/src/submit/host_clock.rs"]),
        ("SystemTime::now", &[]),
        ("process::exit", &[]),
    ];
    for (word, except) in except {
        assert_eq!(places("host/src", word, except), [""; 0], "{word}");
    }
}

#[test]
fn kernels_use_the_device_library_and_no_raw_intrinsic() {
    for word in ["core::arch", "core::intrinsics", "asm!", "static mut", "extern \""] {
        assert_eq!(places("gpu/src", word, &[]), [""; 0], "{word}");
    }
}
