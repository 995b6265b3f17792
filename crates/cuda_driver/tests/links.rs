//! A program that uses `cust` and this crate links, and starts, without CUDA: with GNU ld and with lld, optimized and
//! not. The programs are this crate's examples, built by a cargo of their own into a folder of their own.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, may fail the test")]

mod support;

use cuda_driver::{Library, Symbol};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SymbolScope};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The builds share one target folder, and so write the same file.
static BUILDING: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy, PartialEq)]
enum Linker {
    Gnu,
    Lld,
}

#[derive(Clone, Copy, PartialEq)]
enum Profile {
    Debug,
    Release,
}

impl Profile {
    fn folder(self) -> PathBuf {
        target_folder().join(if self == Profile::Debug { "debug" } else { "release" })
    }
}

fn target_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/links"))
}

/// What `CUDA_LIBRARY_PATH` is for the builds: our folder, and after it a CUDA installation with a `libcuda.so` that
/// has every function. `cust`'s build script adds such folders, if there are any, by itself (/usr/local/cuda).
static LIBRARY_PATH: LazyLock<String> = LazyLock::new(|| {
    let toolkit = target_folder().join("toolkit");
    let whole = support::driver_source(|_| true);
    for folder in ["lib64", "lib64/stubs"] {
        let library = support::compile_library(&whole, &toolkit.join(folder));
        std::fs::copy(&library, library.with_file_name("libcuda.so")).unwrap();
    }
    format!("{}/link:{}", env!("CARGO_MANIFEST_DIR"), toolkit.display())
});

/// Builds an example and returns the program.
fn build(example: &str, profile: Profile, linker: Linker) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["rustc", "--offline", "--quiet", "--example", example])
        .args(["--target-dir".as_ref(), target_folder().as_os_str()])
        .arg("--config")
        .arg(format!("env.CUDA_LIBRARY_PATH.value={:?}", *LIBRARY_PATH))
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    match profile {
        Profile::Debug => command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0"),
        Profile::Release => command.arg("--release"),
    };
    if linker == Linker::Gnu && cfg!(target_arch = "x86_64") {
        command.args(["--", "-Clinker-features=-lld"]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    profile.folder().join("examples").join(example)
}

fn is_driver_symbol(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Looks into the program: by whom it was linked, and that neither it nor the loader looks elsewhere for `function`.
fn needs_no_driver(program: &Path, linker: Linker, function: &str) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let holds = |section, text: &str| {
        let data = file.section_by_name(section).unwrap().data().unwrap();
        data.windows(text.len()).any(|part| part == text.as_bytes())
    };
    assert_eq!(holds(".comment", "LLD"), linker == Linker::Lld, "another linker was used");
    assert!(!holds(".dynstr", "libcuda"), "the program needs libcuda to start");

    let dynamic = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
    let dynamic: Vec<&str> = dynamic.filter(|name| is_driver_symbol(name)).collect();
    assert_eq!(dynamic, Vec::<&str>::new(), "the loader would look for these, or offer them");
    let jumps: Vec<_> = file.symbols().filter(|symbol| symbol.name() == Ok(function)).collect();
    let [jump] = jumps.as_slice() else { panic!("{function} is not one symbol of the program") };
    assert!(jump.is_definition(), "{function} is not defined in the program");
    assert_ne!(jump.scope(), SymbolScope::Dynamic, "{function} is to be hidden");
}

fn links_and_starts(profile: Profile, linker: Linker) {
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |program: &Path| {
        let output = Command::new(program).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), output.status.code())
    };

    let unfilled = build("unfilled", profile, linker);
    needs_no_driver(&unfilled, linker, "cuInit");
    assert_eq!(run(&unfilled), ("Err(UnknownError)\n".to_owned(), Some(0)));

    let version = build("driver_version", profile, linker);
    needs_no_driver(&version, linker, "cuDriverGetVersion");
    let (said, code) = run(&version);
    match Library::open() {
        Ok(_) => assert!(said.starts_with("the driver knows CUDA"), "{said}"),
        Err(no_driver) => assert_eq!((said, code), (format!("{no_driver}\n"), Some(2))),
    }
}

#[test]
fn debug_with_gnu_ld() {
    links_and_starts(Profile::Debug, Linker::Gnu);
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "rustc brings lld along for x86-64 only")]
fn debug_with_lld() {
    links_and_starts(Profile::Debug, Linker::Lld);
}

#[test]
fn release_with_gnu_ld() {
    links_and_starts(Profile::Release, Linker::Gnu);
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "rustc brings lld along for x86-64 only")]
fn release_with_lld() {
    links_and_starts(Profile::Release, Linker::Lld);
}

/// The paths in `folder` whose file name starts with `start` and ends with `end`.
fn files(folder: &Path, start: &str, end: &str) -> Vec<PathBuf> {
    let matches = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(start) && name.ends_with(end)
    };
    let found: Vec<_> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(matches).collect();
    assert!(!found.is_empty(), "no {start}*{end} in {}", folder.display());
    found
}

fn not_listed(names: &BTreeSet<String>) -> Vec<&String> {
    names.iter().filter(|name| !Symbol::ALL.iter().any(|symbol| symbol.name() == *name)).collect()
}

/// What `cust`'s compiled code wants of the driver. How much of it is compiled depends on the profile.
#[test]
fn each_symbol_that_the_library_cust_wants_is_in_the_list() {
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    for profile in [Profile::Debug, Profile::Release] {
        build("unfilled", profile, Linker::Gnu);
        let mut wanted = BTreeSet::new();
        for library in files(&profile.folder().join("deps"), "libcust-", ".rlib") {
            let bytes = std::fs::read(library).unwrap();
            for member in ArchiveFile::parse(&*bytes).unwrap().members() {
                let Ok(file) = object::File::parse(member.unwrap().data(&*bytes).unwrap()) else {
                    continue;
                };
                let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
                wanted.extend(undefined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned())));
            }
        }
        wanted.retain(|name| is_driver_symbol(name));
        assert!(wanted.contains("cuInit"), "{wanted:?}");
        assert_eq!(not_listed(&wanted), Vec::<&String>::new());
    }
}

/// What `cust`'s source calls, which is more: its generic functions are compiled in the program that uses them.
#[test]
fn each_call_in_the_source_of_cust_is_in_the_list() {
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    build("unfilled", Profile::Debug, Linker::Gnu);
    let mut called = BTreeSet::new();
    for dependencies in files(&Profile::Debug.folder().join("deps"), "cust-", ".d") {
        let rule = std::fs::read_to_string(dependencies).unwrap();
        for path in rule.lines().filter_map(|line| line.strip_suffix(".rs:")) {
            let source = std::fs::read_to_string(format!("{}.rs", path.replace("\\ ", " "))).unwrap();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            for before in code.flat_map(|line| line.match_indices('(').map(|(at, _)| &line[..at])) {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let name = &before[before.trim_end_matches(is_word).len()..];
                called.extend(is_driver_symbol(name).then(|| name.to_owned()));
            }
        }
    }
    assert!(called.contains("cuMemAlloc_v2"), "{called:?}");
    assert_eq!(not_listed(&called), Vec::<&String>::new());
}
