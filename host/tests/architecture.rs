//! ARCHITECTURE.md as a test: which crate and which module may depend on which, and where `unsafe`, printing, processes and driver
//! names may appear.

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
    ("ptx", &[]),
    ("stream_order", &[]),
    ("timeline", &[]),
    ("virtual_gpu", &["cuda_driver", "ptx"]),
    ("streamlab", &["cuda_driver", "cuda_std", "ptx", "stream_order", "timeline", "virtual_gpu"]),
    ("host", &["cuda_builder", "cuda_std", "gpu", "stream_order", "streamlab", "timeline"]),
    ("exercises", &["gpu", "host", "ptx", "stream_order", "streamlab", "timeline"]),
];

/// The modules of a crate, from the floor up: each uses only modules that stand before it, so none is in a cycle.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "crates/streamlab",
        &[
            "launch",
            "floor",
            "in_flight",
            "error",
            "limits",
            "clock",
            "device",
            "module",
            "tracer",
            "log",
            "record",
            "context",
            "event",
            "memory",
            "graph",
            "thread",
            "stream",
            "trace",
            "lib",
        ],
    ),
    (
        "host",
        &[
            "kernels",
            "compare",
            "reference",
            "check",
            "overlap",
            "report",
            "cli",
            "measure",
            "document",
            "draft",
            "child",
            "doctor",
            "new",
            "lab",
            "exercise",
            "lessons",
            "session",
            "lib",
            "main",
        ],
    ),
];

/// Lines of code that a file may have before it is no longer read in one sitting. Its words are not counted: comments, and what
/// `--help` says.
const MOST_LINES: usize = 500;
/// Lines of code that a lesson may have, with its checks.
const MOST_LINES_OF_A_LESSON: usize = 300;

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

/// The names that follow `crate::` or the crate's own name in a file's code.
fn used(code: &str, krate: &str) -> Vec<String> {
    let mut names = Vec::new();
    for prefix in ["crate::".to_owned(), format!("{krate}::")] {
        for (at, _) in code.match_indices(&prefix) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at + prefix.len()..];
            let list = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default(),
                None => rest.split([';', '(', '\n']).next().unwrap_or_default(),
            };
            let first = |item: &str| {
                item.trim().split([':', ' ', ',', '<', ')', '>']).next().unwrap_or_default().to_owned()
            };
            match rest.starts_with('{') {
                true => names.extend(list.split(',').map(first)),
                false => names.push(first(list)),
            }
        }
    }
    names
}

#[test]
fn every_module_uses_only_modules_below_it() {
    for (folder, layers) in LAYERS {
        let krate = folder.rsplit('/').next().unwrap();
        for (name, text) in sources(&format!("{folder}/src")) {
            let inside = name.split("/src/").nth(1).unwrap();
            let module = inside.split('/').next().unwrap().trim_end_matches(".rs");
            let layer = layers.iter().position(|known| *known == module);
            let layer = layer.unwrap_or_else(|| panic!("{name}: the module `{module}` has no layer"));
            for used in used(&code(&text), krate) {
                if let Some(below) = layers.iter().position(|known| *known == used) {
                    assert!(below <= layer, "{name} uses `{used}`, which stands above it");
                }
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_and_is_read_in_one_sitting() {
    for folder in ["gpu", "host", "crates", "exercises", "examples"] {
        for (name, text) in sources(folder) {
            let is_fixture = name.contains("/tests/fail/") || name.contains("/tests/pass/");
            assert!(is_fixture || text.starts_with("//!"), "{name} does not begin with `//!`");
            let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
            let lines = text.lines().filter(is_code).count();
            let most =
                if name.starts_with("host/src/lessons/") { MOST_LINES_OF_A_LESSON } else { MOST_LINES };
            assert!(
                lines <= most,
                "{name} has {lines} lines of code: which of its ideas deserves a file of its own?"
            );
        }
    }
}

#[test]
fn raw_driver_calls_stand_in_the_floor_alone_and_lessons_make_none() {
    let raw = |text: &str| {
        let code = code(text);
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let is_call = |word: &&str| {
            word.strip_prefix("cu")
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
        };
        words.filter(is_call).map(str::to_owned).collect::<Vec<_>>()
    };
    for (name, text) in sources("crates/streamlab/src") {
        // A symbol is asked for by name where a driver may lack it, and named in advice and in an error's words.
        let named = |call: &String| {
            [format!("Symbol::{call}"), format!("({call};"), format!("lost(\"{call}\"")]
                .iter()
                .any(|known| text.contains(known))
        };
        let calls: Vec<_> = raw(&text).into_iter().filter(|call| !named(call)).collect();
        assert!(name.ends_with("/floor.rs") || calls.is_empty(), "{name} names {calls:?}");
    }
    for (name, text) in sources("host/src") {
        let calls: Vec<_> =
            raw(&text).into_iter().filter(|call| !text.contains(&format!("{call} returned"))).collect();
        assert_eq!(calls, [""; 0], "{name}");
    }
    for word in ["cuda_driver::", "cust::", "virtual_gpu::"] {
        assert_eq!(places("host/src", word, &[]), [""; 0], "{word}");
    }
}

#[test]
fn unsafe_is_the_librarys_and_a_call_of_an_unsafe_kernel() {
    for (name, text) in sources("host/src") {
        let others = code(&text).replace("unsafe { ", "unsafe{");
        let blocks = others.matches("unsafe").count();
        let calls = others.matches("unsafe{gpu::").count()
            + others.matches("unsafe{combine_stage").count()
            + others.matches("unsafe{kernels::").count()
            + others.matches("unsafe{write_at").count()
            + others.matches("unsafe{set_flag").count()
            + others.matches("unsafe{wait_for_flag").count();
        assert_eq!(blocks, calls, "{name} has more than calls of kernels that is unsafe");
    }
}

#[test]
fn only_the_report_prints_and_processes_and_environment_have_one_place() {
    for word in ["println!", "eprintln!", "print!", "io::stdout", "io::stderr"] {
        assert_eq!(places("host/src", word, &["host/src/report.rs"]), [""; 0], "{word}");
        assert_eq!(places("crates/streamlab/src", word, &[]), [""; 0], "{word}");
    }
    let child = "host/src/child.rs";
    let except: [(&str, &[&str]); 4] = [
        ("env::var", &[child]),
        ("process::Command", &[child, "host/src/doctor.rs"]),
        ("SystemTime::now", &[]),
        ("process::exit", &[]),
    ];
    for (word, except) in except {
        assert_eq!(places("host/src", word, except), [""; 0], "{word}");
    }
    assert_eq!(places("crates/streamlab/src", "Instant::now", &["crates/streamlab/src/clock.rs"]), [""; 0]);
    assert_eq!(places("host/src", "Instant::now", &["host/src/exercise.rs"]), [""; 0]);
}

#[test]
fn kernels_use_the_device_library_and_no_raw_intrinsic() {
    for word in ["core::arch", "core::intrinsics", "asm!", "static mut", "extern \""] {
        assert_eq!(places("gpu/src", word, &[]), [""; 0], "{word}");
    }
}

#[test]
fn a_third_of_the_unsafe_blocks_of_the_first_library_is_enough() {
    let blocks: usize =
        sources("crates/streamlab/src").iter().map(|(_, text)| code(text).matches("unsafe {").count()).sum();
    assert!(blocks <= 62 / 3, "{blocks} unsafe blocks");
}
