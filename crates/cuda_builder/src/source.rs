//! Where the core library for the GPU comes from: a chain of places, asked in order. Reads the file system; only the
//! last link, Debian's archive, writes, and that to the cache.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::TARGET;
use crate::cache::Cache;
use crate::compiler::Compiler;
use crate::debian;
use crate::error::Error;
use crate::machine::Machine;

/// Names the folder of the standard library's source, where no other place has it.
pub(crate) const SOURCE_VAR: &str = "CUDA_BUILDER_RUST_SRC";

/// What the chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The toolchain has a compiled core for the GPU in this folder.
    Compiled(PathBuf),
    /// The source of the standard library, to be compiled.
    Library {
        /// The folder that has `core` in it.
        library: PathBuf,
        /// What it is, for people.
        name: String,
    },
}

/// One link's answer: what it found, or what it looked at in vain.
pub(crate) enum Answer {
    Found(Source),
    Absent(String),
}

type Link = fn(&Machine, &Compiler, &Cache) -> Result<Answer, Error>;

/// The order: what is there before what must be built, the toolchain's own before a stranger's, and what needs the
/// network last.
const CHAIN: [Link; 5] = [compiled, component, named, system, debian_archive];

/// Asks each link in turn.
///
/// # Errors
/// [`Error::Source`] when the user named a folder that will not do; [`Error::NoCore`] when no link found anything.
pub(crate) fn find(machine: &Machine, compiler: &Compiler, cache: &Cache) -> Result<Source, Error> {
    let mut looked = Vec::new();
    for link in CHAIN {
        match link(machine, compiler, cache)? {
            Answer::Found(source) => return Ok(source),
            Answer::Absent(what) => looked.push(what),
        }
    }
    let remedy = match compiler.rustup_toolchain() {
        Some(toolchain) => format!("run `rustup component add rust-src --toolchain {toolchain}`"),
        None => format!("install the package with the source of rustc {} (rust-src)", compiler.release()),
    };
    Err(Error::NoCore { looked: looked.join(", "), remedy })
}

/// A core that was compiled with the toolchain, as `rustup target add` installs it.
///
/// Its own target-cpu (the compiler's default, sm_30) does no harm, for it holds LLVM's intermediate code: kernels for
/// sm_75 and sm_90 came out instruction by instruction as with a core compiled here, and only between functions of
/// core itself (formatting, panics) did LLVM inline differently. But Rust's releases have debug information in core,
/// and through link-time optimization it reaches the PTX; `ptx` takes it out.
fn compiled(_: &Machine, compiler: &Compiler, _: &Cache) -> Result<Answer, Error> {
    let dir = compiler.sysroot.join("lib/rustlib").join(TARGET).join("lib");
    let core = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("libcore-") && name.ends_with(".rlib")
    };
    let found = fs::read_dir(&dir)
        .is_ok_and(|mut files| files.any(|file| file.is_ok_and(|file| core(&file.file_name()))));
    Ok(if found { Answer::Found(Source::Compiled(dir)) } else { absent(&dir) })
}

/// The `rust-src` component, which rustup installs by itself where `rust-toolchain.toml` lists it.
fn component(_: &Machine, compiler: &Compiler, _: &Cache) -> Result<Answer, Error> {
    let dir = compiler.sysroot.join("lib/rustlib/src/rust/library");
    Ok(existing(&dir, compiler, "the rust-src component"))
}

/// The folder that the user names: `library` itself or the folder around it.
fn named(machine: &Machine, compiler: &Compiler, _: &Cache) -> Result<Answer, Error> {
    let Some(dir) = machine.path_var(SOURCE_VAR) else {
        return Ok(Answer::Absent(format!("{SOURCE_VAR} (not set)")));
    };
    let absolute = std::path::absolute(&dir).map_err(Error::io("name the folder", &dir))?;
    let below = absolute.join("library");
    let library = if below.is_dir() { below } else { absolute };
    match defect(&library, compiler) {
        None => Ok(Answer::Found(Source::Library { library, name: SOURCE_VAR.to_owned() })),
        Some(reason) => Err(Error::Source { dir, reason, release: compiler.release() }),
    }
}

/// Where Debian's `rust-src` package puts it.
fn system(machine: &Machine, compiler: &Compiler, _: &Cache) -> Result<Answer, Error> {
    let dir = machine.place(&format!("usr/src/rustc-{}/library", compiler.release()));
    Ok(existing(&dir, compiler, "the system's source"))
}

/// Debian's `rust-src`, fetched from the machine's own mirror.
fn debian_archive(machine: &Machine, compiler: &Compiler, cache: &Cache) -> Result<Answer, Error> {
    let fetched = debian::fetch(machine, &compiler.release(), cache);
    Ok(match fetched {
        Ok(package) => {
            let name = format!("Debian's rust-src {}", package.version);
            Answer::Found(Source::Library { library: package.library, name })
        }
        Err(debian::Reason(reason)) => Answer::Absent(format!("Debian's rust-src ({reason})")),
    })
}

fn existing(library: &Path, compiler: &Compiler, name: &str) -> Answer {
    match defect(library, compiler) {
        None => Answer::Found(Source::Library { library: library.to_owned(), name: name.to_owned() }),
        Some(_) if !library.exists() => absent(library),
        Some(reason) => Answer::Absent(format!("{} ({reason})", library.display())),
    }
}

fn absent(dir: &Path) -> Answer {
    Answer::Absent(format!("{} (absent)", dir.display()))
}

/// What keeps a folder from being the source of this compiler's standard library, as far as can be told without
/// compiling it.
fn defect(library: &Path, compiler: &Compiler) -> Option<String> {
    for part in
        ["core/Cargo.toml", "compiler-builtins/compiler-builtins/Cargo.toml", "std/Cargo.toml", "Cargo.toml"]
    {
        if !library.join(part).is_file() {
            return Some(format!("it has no {part}"));
        }
    }
    let around = library.parent()?;
    // The lock file lay beside `library` until 2024.
    if !library.join("Cargo.lock").is_file() && !around.join("Cargo.lock").is_file() {
        return Some("it has no Cargo.lock".to_owned());
    }
    let version = version_beside(around)?;
    let needed = compiler.release();
    (version != needed).then(|| format!("it is of version {version}, and the compiler is {needed}"))
}

/// The version of a source tree, where its file or its folder's name says it.
fn version_beside(around: &Path) -> Option<String> {
    for file in ["version", "src/version"] {
        if let Ok(text) = fs::read_to_string(around.join(file)) {
            return text.split_whitespace().next().map(str::to_owned);
        }
    }
    let name = around.file_name()?.to_str()?.strip_prefix("rustc-")?;
    Some(name.strip_suffix("-src").unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests;
