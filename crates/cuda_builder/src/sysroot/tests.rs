//! Building core, on a source of a few lines that compiles in a second: what is kept, what two processes do to each
//! other, and what a killed one leaves.

use std::io::BufRead as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::cache::CACHE_VAR;

/// The least that a crate must have for others to be compiled against it as `core`.
const CORE: &str = "
#![feature(no_core, lang_items)]
#![allow(internal_features)]
#![no_core]
#[lang = \"pointee_sized\"]
pub trait PointeeSized {}
#[lang = \"meta_sized\"]
pub trait MetaSized: PointeeSized {}
#[lang = \"sized\"]
pub trait Sized: MetaSized {}
pub mod prelude { pub mod rust_2018 {} }
";

/// Notes that core is being built, and goes on when the file that holds it is gone.
const BUILD_SCRIPT: &str = r#"
fn main() {
    use std::io::Write;
    let folder = std::env::var("TEST_FOLDER").unwrap();
    let mut builds = std::fs::File::options().create(true).append(true).open(format!("{folder}/builds")).unwrap();
    writeln!(builds, "built").unwrap();
    std::fs::write(format!("{folder}/flags"), std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap()).unwrap();
    while std::path::Path::new(&format!("{folder}/hold")).exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
"#;

/// A folder with the small source, an empty cache, and a file with a line for each time that core was built.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        let package =
            |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n");
        let builtins = package("compiler_builtins") + "[features]\ncompiler-builtins = []\nmem = []\n";
        fixture.write("Cargo.toml", "[workspace]\nmembers = []\n");
        fixture.write("Cargo.lock", "version = 4\n");
        fixture.write("std/Cargo.toml", &package("std"));
        fixture.write("core/Cargo.toml", &package("core"));
        fixture.write("core/src/lib.rs", CORE);
        fixture.write("alloc/Cargo.toml", &package("alloc"));
        fixture.write("alloc/src/lib.rs", "#![feature(no_core)]\n#![no_core]\n");
        fixture.write("compiler-builtins/compiler-builtins/Cargo.toml", &builtins);
        fixture.write("compiler-builtins/compiler-builtins/build.rs", BUILD_SCRIPT);
        let attributes =
            "#![feature(no_core, compiler_builtins)]\n#![allow(internal_features)]\n#![compiler_builtins]\n";
        fixture
            .write("compiler-builtins/compiler-builtins/src/lib.rs", &format!("{attributes}#![no_core]\n"));
        fixture
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.library().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn library(&self) -> PathBuf {
        self.dir.path().join("library")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn ready(&self) -> Result<Core, Error> {
        ready_in(self.dir.path())
    }

    fn n_builds(&self) -> usize {
        fs::read(self.at("builds")).map_or(0, |builds| builds.lines().count())
    }

    /// Another process that does what `ready` does.
    fn process(&self) -> Child {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "sysroot::tests::a_process_of_its_own", "--ignored"]);
        // A killed one cannot tidy up: what it leaves goes with this folder.
        child.env("TMPDIR", self.dir.path());
        child.env("TEST_FOLDER", self.dir.path()).stdout(Stdio::null()).spawn().unwrap()
    }
}

fn ready_in(dir: &Path) -> Result<Core, Error> {
    let cache = dir.join("cache");
    let machine =
        Machine::current().with("TEST_FOLDER", dir).with(CACHE_VAR, &cache).with("RUSTFLAGS", "-Cnonsense");
    let compiler = Compiler::detect(&machine, dir).unwrap();
    let source = Source::Library { library: dir.join("library"), name: "a test".to_owned() };
    ready(&machine, &compiler, &Cache::open(&machine, None).unwrap(), &source)
}

#[test]
#[ignore = "the other tests run it, in a process of its own"]
fn a_process_of_its_own() {
    // Run by a person, it has no folder and nothing to do.
    if let Some(dir) = std::env::var_os("TEST_FOLDER") {
        ready_in(Path::new(&dir)).unwrap();
    }
}

#[test]
fn core_is_built_once_and_again_when_its_source_changes() {
    let fixture = Fixture::new();
    let core = fixture.ready().unwrap();
    let files = fs::read_dir(core.sysroot().unwrap().join("lib/rustlib").join(TARGET).join("lib")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| name.starts_with("libcore-") && name.ends_with(".rlib")));
    assert_eq!((fixture.ready().unwrap(), fixture.n_builds()), (core.clone(), 1));

    fixture.write("core/src/lib.rs", &format!("{CORE}\n"));
    assert_ne!(fixture.ready().unwrap(), core);
    assert_eq!(fixture.n_builds(), 2);
}

#[test]
fn its_line_says_compiler_and_source() {
    let fixture = Fixture::new();
    let line = fixture.ready().unwrap().to_string();
    let release = Compiler::detect(&Machine::current(), fixture.dir.path()).unwrap().release();
    assert!(line.starts_with(&format!("core of rustc {release} (")), "{line}");
    assert!(line.ends_with(&format!("compiled from a test ({})", fixture.library().display())), "{line}");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn it_is_compiled_with_our_flags_and_under_the_name_that_rusts_releases_give_it() {
    let fixture = Fixture::new();
    fixture.ready().unwrap();
    let flags = fs::read_to_string(fixture.at("flags")).unwrap();
    let flags = flags.split('\x1f').collect::<Vec<_>>();
    let compiler = Compiler::detect(&Machine::current(), fixture.dir.path()).unwrap();
    let library = fixture.library();
    let remap = format!("--remap-path-prefix={}=/rustc/{}/library", library.display(), compiler.commit());
    for flag in [&remap, "-Ctarget-cpu=sm_75", "-Cpanic=abort", "-Cdebuginfo=0"] {
        assert!(flags.contains(&flag), "{flag} in {flags:?}");
    }
    assert!(!flags.contains(&"-Cnonsense"), "{flags:?}");
}

#[test]
fn of_two_processes_at_once_one_builds_and_both_have_it() {
    let fixture = Fixture::new();
    let mut processes = [fixture.process(), fixture.process()];
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(fixture.n_builds(), 1);
}

#[test]
fn a_killed_build_leaves_nothing_that_is_taken_for_core() {
    let fixture = Fixture::new();
    fs::write(fixture.at("hold"), "").unwrap();
    let mut process = fixture.process();
    while fixture.n_builds() == 0 {
        assert!(process.try_wait().unwrap().is_none(), "it ended before core was being built");
        thread::sleep(Duration::from_millis(10));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    fs::remove_file(fixture.at("hold")).unwrap();

    fixture.ready().unwrap();
    assert_eq!(fixture.n_builds(), 2);
    let left = fs::read_dir(fixture.at("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| name == "lock" || name.starts_with("core-")));
}

#[test]
fn a_source_that_does_not_compile_names_the_log_with_the_reason() {
    let fixture = Fixture::new();
    fixture.write("core/src/lib.rs", "#![no_std]\nfn unfinished(");
    let error = fixture.ready().unwrap_err();
    let Error::Sysroot { log, .. } = &error else { panic!("{error}") };
    assert!(fs::read_to_string(log).unwrap().contains("unclosed delimiter"));
    assert!(error.to_string().contains(&*log.to_string_lossy()));
    assert_eq!(error.to_string().lines().count(), 1);
}
