//! What is said when there is no driver. Nothing here fills the table.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, may fail the test")]

mod support;

use cuda_driver::{Library, LibraryError, Symbol};
use std::path::Path;

fn open(name: impl AsRef<Path>) -> Result<Library, LibraryError> {
    // SAFETY: the tests name a file that is not there, one that is no library, and libraries that do nothing.
    unsafe { Library::open_as(name.as_ref()) }
}

#[test]
fn an_absent_library_is_named_with_the_loaders_message() {
    let message = open("libcuda-of-no-machine.so.1").unwrap_err().to_string();
    let expected_start = "no CUDA driver: the loader was asked for libcuda-of-no-machine.so.1 and says: ";
    assert!(message.starts_with(expected_start), "{message}");
    assert!(message.contains("cannot open shared object file"), "{message}");
    assert!(message.contains("; install NVIDIA's driver"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn a_file_that_is_no_library_is_told_with_the_loaders_message() {
    let path = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/no_library.so"));
    std::fs::write(path, "not a library").unwrap();
    let error = open(path).unwrap_err();
    assert!(matches!(error, LibraryError::NotLoaded { .. }), "{error}");
    assert!(error.to_string().contains("file too short"), "{error}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_library_without_cu_init_is_no_driver() {
    let source = support::driver_source(|symbol| symbol != Symbol::cuInit);
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/no_driver");
    let path = support::compile_library(&source, folder.as_ref());
    let error = open(&path).unwrap_err();
    assert!(matches!(error, LibraryError::NotADriver { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("has no `cuInit`") && message.contains(path.to_str().unwrap()), "{message}");
}

#[test]
fn this_machines_driver_is_looked_for_by_its_soname() {
    match Library::open() {
        Ok(driver) => assert!(driver.resolve(Symbol::cuInit).is_some()),
        Err(no_driver) => assert!(no_driver.to_string().contains("libcuda.so.1"), "{no_driver}"),
    }
}
