//! A core library for the GPU, compiled once from the standard library's source and kept in the cache. One is enough
//! for all architectures. Runs cargo on the source, offline; writes to the cache, and what cargo needs on the
//! way to the folder for temporary files.

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use rustc_build_sysroot::{BuildMode, SysrootBuilder, SysrootConfig};

use crate::TARGET;
use crate::cache::Cache;
use crate::compiler::Compiler;
use crate::error::Error;
use crate::machine::Machine;
use crate::source::Source;

/// The architecture that core is compiled for. What a library for this target holds is LLVM's intermediate code, and
/// instructions are chosen when the kernels are compiled, for theirs, so this one core serves all. It names the oldest
/// that kernels are compiled for by default, because LLVM inlines only between functions of the same architecture.
const ARCH: &str = "sm_75";

/// Whatever the user's configuration says of the release profile; `-C` flags win over a profile.
const FLAGS: [&str; 5] =
    ["-Cpanic=abort", "-Copt-level=3", "-Cdebuginfo=0", "-Cdebug-assertions=off", "-Coverflow-checks=off"];

/// The folders of the source that a core is made of.
const PARTS: [&str; 7] =
    ["Cargo.toml", "Cargo.lock", "alloc", "compiler-builtins", "core", "portable-simd", "stdarch"];

/// The core library that the kernels were compiled with. Displays as one line that says where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    origin: String,
    sysroot: Option<PathBuf>,
}

impl Core {
    /// The folder to give to rustc as `--sysroot`; none where the toolchain has a core of its own.
    pub fn sysroot(&self) -> Option<&Path> {
        self.sysroot.as_deref()
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

/// Makes a core ready for the kernels from what the chain found.
pub(crate) fn ready(
    machine: &Machine,
    compiler: &Compiler,
    cache: &Cache,
    source: &Source,
) -> Result<Core, Error> {
    let rustc =
        format!("core of rustc {}", compiler.version.short_version_string.trim_start_matches("rustc "));
    match source {
        Source::Compiled(dir) => {
            let origin = format!("{rustc}, as it came with the toolchain ({})", dir.display());
            Ok(Core { origin, sysroot: None })
        }
        Source::Library { library, name } => {
            let key = key(compiler, library).map_err(Error::io("read the source", library))?;
            let sysroot = cache.get_or_make(&key, |room| build(machine, compiler, cache, library, room))?;
            let origin = format!("{rustc}, compiled from {name} ({})", library.display());
            Ok(Core { origin, sysroot: Some(sysroot) })
        }
    }
}

fn build(
    machine: &Machine,
    compiler: &Compiler,
    cache: &Cache,
    library: &Path,
    room: &Path,
) -> Result<(), Error> {
    let mut cargo = machine.nested(&compiler.cargo);
    cargo
        .current_dir(room)
        .env("RUSTC", &compiler.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TERM_COLOR", "never")
        // Everything that core needs is in the source, and cargo is held to that.
        .env("CARGO_NET_OFFLINE", "true");
    // The name that Rust's releases give these sources: the PTX then does not depend on where they lay.
    let remap = format!("--remap-path-prefix={}=/rustc/{}/library", library.display(), compiler.commit());
    let arch = format!("-Ctarget-cpu={ARCH}");
    SysrootBuilder::new(room, TARGET)
        .build_mode(BuildMode::Build)
        .sysroot_config(SysrootConfig::NoStd)
        .rustc_version(compiler.version.clone())
        .rustflags(FLAGS.iter().map(|flag| (*flag).to_owned()).chain([arch, remap]))
        .cargo(cargo)
        .build_from_source(library)
        .map(drop)
        .map_err(|error| match cache.note("core.log", &format!("{error:?}\n")) {
            Ok(log) => Error::Sysroot { library: library.to_owned(), log, release: compiler.release() },
            Err(error) => error,
        })
}

/// A name for the core of this compiler and this source: another one of either gives another name.
fn key(compiler: &Compiler, library: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    (FLAGS, ARCH).hash(&mut hasher);
    compiler.version.hash(&mut hasher);
    for part in PARTS {
        let place = library.join(part);
        if place.exists() {
            hash_tree(&place, &mut hasher)?;
        }
    }
    let commit = compiler.commit();
    let commit = commit.get(..9).unwrap_or(&commit);
    Ok(format!("core-{}-{commit}-{:016x}", compiler.release(), hasher.finish()))
}

/// Name, size and time of every file: what an edit or another version of the source changes, without reading it all.
fn hash_tree(place: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let found = fs::metadata(place)?;
    place.file_name().hash(hasher);
    if !found.is_dir() {
        (found.len(), found.modified()?).hash(hasher);
        return Ok(());
    }
    let entries = fs::read_dir(place)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
    let mut entries = entries?;
    entries.sort();
    for entry in entries {
        hash_tree(&entry, hasher)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
