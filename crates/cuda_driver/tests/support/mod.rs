//! Shared libraries made from C for a test, such as a driver that lacks something.

use cuda_driver::Symbol;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// C code of a driver that has the functions `has` lets through. Each answers success and does nothing.
pub fn driver_source(has: impl Fn(Symbol) -> bool) -> String {
    let mut source = String::new();
    for symbol in Symbol::ALL.iter().filter(|&&symbol| has(symbol)) {
        writeln!(source, "int {symbol}(void) {{ return 0; }}").unwrap();
    }
    source
}

/// Compiles `source` with the C compiler that rustc links with, into `folder`/libcuda.so.1, and returns that path.
pub fn compile_library(source: &str, folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let (file, library) = (folder.join("driver.c"), folder.join("libcuda.so.1"));
    std::fs::write(&file, source).unwrap();
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"])
        .args([&library, &file])
        .output()
        .expect("a C compiler named cc is needed, by rustc too");
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    library
}
