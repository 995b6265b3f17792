//! Each link of the chain against folders and programs made for the test, for no machine has them all.

use tempfile::TempDir;

use super::*;
use crate::cache::CACHE_VAR;

/// A machine that has nothing, with a compiler of version 1.95.0 and an empty cache.
struct Bare {
    dir: TempDir,
    machine: Machine,
    compiler: Compiler,
    cache: Cache,
}

impl Bare {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let machine = Machine::made_up(dir.path(), &[(CACHE_VAR, cache.as_os_str())]);
        let cache = Cache::open(&machine, None).unwrap();
        let compiler = Compiler::made_up("1.95.0", &dir.path().join("toolchains/1.95.0-here"));
        Self { machine, compiler, cache, dir }
    }

    fn find(&self) -> Result<Source, Error> {
        find(&self.machine, &self.compiler, &self.cache)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Files that look like the standard library's source, in this folder.
    fn library(&self, name: &str) -> PathBuf {
        let library = self.at(name);
        let builtins = "compiler-builtins/compiler-builtins/Cargo.toml";
        for file in ["core/Cargo.toml", builtins, "std/Cargo.toml", "Cargo.toml", "Cargo.lock"] {
            write(&library.join(file), "");
        }
        library
    }

    fn name_source(&mut self, dir: &Path) {
        self.machine = self.machine.clone().with(SOURCE_VAR, dir);
    }
}

fn write(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn library_of(source: Source) -> PathBuf {
    match source {
        Source::Library { library, .. } => library,
        Source::Compiled(dir) => panic!("a compiled core in {}", dir.display()),
    }
}

#[test]
fn the_links_are_asked_in_order() {
    let mut bare = Bare::new();
    let compiled = bare.at("toolchains/1.95.0-here/lib/rustlib/nvptx64-nvidia-cuda/lib");
    write(&compiled.join("libcore-0123.rlib"), "");
    let component = bare.library("toolchains/1.95.0-here/lib/rustlib/src/rust/library");
    let named = bare.library("named");
    bare.name_source(&named);
    let system = bare.library("usr/src/rustc-1.95.0/library");
    let debian = bare.library("cache/debian-rust-src-1.95.0/library");
    write(&bare.at("cache/debian-rust-src-1.95.0/version"), "1.95.0+dfsg1-2~bpo13+1");

    assert_eq!(bare.find().unwrap(), Source::Compiled(compiled.clone()));
    fs::remove_dir_all(compiled).unwrap();
    assert_eq!(library_of(bare.find().unwrap()), component);
    fs::remove_dir_all(component).unwrap();
    assert_eq!(library_of(bare.find().unwrap()), named);
    bare.name_source(Path::new(""));
    assert_eq!(library_of(bare.find().unwrap()), system);
    fs::remove_dir_all(system).unwrap();
    assert_eq!(library_of(bare.find().unwrap()), debian);
}

#[test]
fn a_target_folder_without_core_is_not_taken_for_one() {
    let bare = Bare::new();
    write(&bare.at("toolchains/1.95.0-here/lib/rustlib/nvptx64-nvidia-cuda/lib/liballoc-0.rlib"), "");
    let library = bare.library("usr/src/rustc-1.95.0/library");
    assert_eq!(library_of(bare.find().unwrap()), library);
}

#[test]
fn the_named_folder_may_be_library_or_the_one_around_it() {
    let mut bare = Bare::new();
    let library = bare.library("rustc-1.95.0-src/library");
    for dir in [library.clone(), bare.at("rustc-1.95.0-src")] {
        bare.name_source(&dir);
        assert_eq!(library_of(bare.find().unwrap()), library);
    }
}

#[test]
fn the_lock_file_may_lie_beside_library() {
    let mut bare = Bare::new();
    let library = bare.library("source/library");
    fs::rename(library.join("Cargo.lock"), bare.at("source/Cargo.lock")).unwrap();
    bare.name_source(&library);
    assert_eq!(library_of(bare.find().unwrap()), library);
}

#[test]
fn a_named_folder_that_is_no_source_is_an_error_that_says_what_it_lacks() {
    for missing in ["core", "compiler-builtins", "std", "Cargo.toml", "Cargo.lock"] {
        let mut bare = Bare::new();
        let library = bare.library("named");
        let path = library.join(missing);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
        bare.name_source(&library);
        let error = bare.find().unwrap_err().to_string();
        assert!(error.contains(&format!("it has no {missing}")) && error.contains("named"), "{error}");
    }
    let mut bare = Bare::new();
    bare.name_source(Path::new("/nowhere"));
    assert!(bare.find().unwrap_err().to_string().contains("CUDA_BUILDER_RUST_SRC=/nowhere"));
}

#[test]
fn a_source_of_another_version_is_told_from_its_version_file_or_its_folders_name() {
    for (library, version_file) in [
        ("source/library", Some("source/version")),
        ("source/library", Some("source/src/version")),
        ("rustc-1.94.0/library", None),
        ("rustc-1.94.0-src/library", None),
    ] {
        let mut bare = Bare::new();
        let library = bare.library(library);
        if let Some(file) = version_file {
            write(&bare.at(file), "1.94.0 (4a4ef493e 2026-03-02)\n");
        }
        bare.name_source(&library);
        let error = bare.find().unwrap_err().to_string();
        assert!(error.contains("it is of version 1.94.0, and the compiler is 1.95.0"), "{error}");
    }
}

#[test]
fn a_broken_folder_that_nobody_named_is_passed_over_and_mentioned() {
    let bare = Bare::new();
    let component = bare.library("toolchains/1.95.0-here/lib/rustlib/src/rust/library");
    fs::remove_dir_all(component.join("core")).unwrap();
    let error = bare.find().unwrap_err().to_string();
    assert!(error.contains(&format!("{} (it has no core/Cargo.toml)", component.display())), "{error}");
}

#[test]
fn when_nothing_is_found_the_error_lists_each_place_and_gives_the_command() {
    let mut bare = Bare::new();
    let error = bare.find().unwrap_err().to_string();
    for place in [
        "toolchains/1.95.0-here/lib/rustlib/nvptx64-nvidia-cuda/lib (absent)",
        "toolchains/1.95.0-here/lib/rustlib/src/rust/library (absent)",
        "CUDA_BUILDER_RUST_SRC (not set)",
        "usr/src/rustc-1.95.0/library (absent)",
        "Debian's rust-src (no apt-get on PATH)",
        "`rustup component add rust-src --toolchain 1.95.0-here`",
    ] {
        assert!(error.contains(place), "{place} in {error}");
    }
    assert_eq!(error.lines().count(), 1);

    bare.compiler = Compiler::made_up("1.95.0", Path::new("/usr"));
    let error = bare.find().unwrap_err().to_string();
    assert!(error.contains("the source of rustc 1.95.0 (rust-src)") && !error.contains("rustup"), "{error}");
}
