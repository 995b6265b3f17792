//! A copy of the fixture kernel crate in a folder of its own, which a test may change.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Build, CudaBuilder};
use tempfile::TempDir;

/// Where the fixtures are.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A folder with copies of the fixtures.
pub struct Room {
    dir: TempDir,
}

impl Room {
    /// Copies these fixtures into a folder with a space in its path, as any user's may have; with `app` comes the
    /// `cuda_std` that it depends on.
    pub fn with(names: &[&str]) -> Self {
        let room = Self { dir: tempfile::Builder::new().prefix("a room ").tempdir().unwrap() };
        for name in names {
            copy(&fixtures().join(name), &room.at(name));
        }
        if names.contains(&"app") {
            copy(&fixtures().join("cuda_std"), &room.at("cuda_std"));
            copy(&fixtures().join("../../../cuda_std/src/abi.rs"), &room.at("cuda_std/src/abi.rs"));
        }
        room
    }

    /// A place in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The kernel crate's root module.
    pub fn lib(&self) -> PathBuf {
        self.at("kernels/src/lib.rs")
    }

    /// Adds to the end of a file.
    pub fn append(&self, name: &str, text: &str) {
        let old = fs::read_to_string(self.at(name)).unwrap();
        fs::write(self.at(name), old + text).unwrap();
    }

    /// The builder for the kernel crate, with a target folder beside it.
    pub fn builder(&self) -> CudaBuilder {
        CudaBuilder::new(self.at("kernels")).target_dir(self.at("target"))
    }

    /// Builds, and expects it to work.
    pub fn build(&self) -> Build {
        self.builder().build().unwrap_or_else(|error| panic!("{}{error}", error.diagnostics()))
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Every file below a folder with its content: what two looks must agree in, if nobody wrote there.
pub fn snapshot(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
