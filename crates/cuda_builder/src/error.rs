//! What can go wrong, each with where it happened and what repairs it, on one line. Text only; touches nothing.

use std::io;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::cache::CACHE_VAR;
use crate::source::SOURCE_VAR;

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of an architecture is none.
    #[error("not the name of a GPU architecture: {name:?}; write it as rustc does, for example \"sm_75\"")]
    Arch {
        /// The name as given.
        name: String,
    },
    /// The compiler has never heard of an architecture. It would compile for an older one without a word.
    #[error(
        "the compiler does not know {arch}: rustc {release}; \
         `rustc --print target-cpus --target {target}` lists what it knows",
        target = crate::TARGET
    )]
    UnknownArch {
        /// What was asked for.
        arch: Arch,
        /// The compiler's version.
        release: String,
    },
    /// The folder holds no crate.
    #[error("no kernel crate: {dir} has no Cargo.toml; give the folder that has the kernels' Cargo.toml")]
    NoCrate {
        /// The folder as given.
        dir: PathBuf,
    },
    /// The compiler did not say what it is.
    #[error(
        "the Rust compiler did not answer: `{command}`: {reason}; make RUSTC, or PATH, name a rustc that works"
    )]
    Compiler {
        /// The command that was run.
        command: String,
        /// What came back.
        reason: String,
    },
    /// No link of the chain gave a core library for the GPU.
    #[error(
        "no core library for {target}: looked at {looked}; \
         {remedy}, or set {SOURCE_VAR} to the library folder of exactly that source",
        target = crate::TARGET
    )]
    NoCore {
        /// Each place and what was found there.
        looked: String,
        /// The command that repairs it.
        remedy: String,
    },
    /// The folder that the user named holds no source, or that of another version.
    #[error(
        "not the standard library's source: {SOURCE_VAR}={dir}: {reason}; \
         name the folder `library` of the source of rustc {release}, or unset {SOURCE_VAR}"
    )]
    Source {
        /// The folder as given.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// The version that is needed.
        release: String,
    },
    /// The core library did not compile.
    #[error(
        "core did not compile for {target}: {library}; \
         see {log}, and make sure that it is the source of exactly rustc {release}",
        target = crate::TARGET
    )]
    Sysroot {
        /// The source that was compiled.
        library: PathBuf,
        /// Where the compiler's messages are.
        log: PathBuf,
        /// The compiler's version.
        release: String,
    },
    /// There is no folder to keep the compiled core in.
    #[error("no cache folder: {tried}; set {CACHE_VAR} to a folder that can be written")]
    NoCache {
        /// What was tried and why it did not do.
        tried: String,
    },
    /// The lock file would have to change, and a build does not write to the source tree.
    #[error(
        "Cargo.lock is missing or out of date: {manifest}; \
         run `cargo update --workspace --manifest-path {manifest:?}` where the sources can be written"
    )]
    StaleLock {
        /// The kernel crate's manifest.
        manifest: PathBuf,
        /// What cargo said.
        diagnostics: String,
    },
    /// The kernels have compile errors, or cargo could not start to compile them.
    #[error("the kernels did not compile for {arch}: {dir}; correct the errors above")]
    Kernels {
        /// The architecture it was compiled for.
        arch: Arch,
        /// The kernel crate.
        dir: PathBuf,
        /// What rustc and cargo said, as they said it.
        diagnostics: String,
    },
    /// The PTX calls a function that nothing defines, so no driver would load it.
    #[error(
        "the kernels call what nothing defines: {names} in {ptx}; \
         define it in Rust, for the GPU has no library to take it from",
        names = names.join(", ")
    )]
    Unresolved {
        /// The functions, by their symbol.
        names: Vec<String>,
        /// The PTX file.
        ptx: PathBuf,
    },
    /// The compiler wrote something that does not read as PTX.
    #[error(
        "not PTX: {ptx}: {reason}; remove the folder {folder} and build again",
        folder = ptx.parent().unwrap_or(ptx).display()
    )]
    NotPtx {
        /// The file.
        ptx: PathBuf,
        /// What is missing in it.
        reason: String,
    },
    /// The crate compiled, and no architecture's PTX has an entry that is the crate's own.
    #[error("`{dir}` has no kernel: mark a function with #[kernel]")]
    NoKernel {
        /// The kernel crate.
        dir: PathBuf,
    },
    /// A path cannot be handed to the compiler.
    #[error("the compiler cannot be given this path: {path:?}: {reason}; use another folder")]
    Path {
        /// The path.
        path: PathBuf,
        /// What it contains.
        reason: &'static str,
    },
    /// [`embed`](crate::CudaBuilder::embed) was called outside a build script.
    #[error("not in a build script: OUT_DIR is not set; call `build()`, or run this from build.rs")]
    NoOutDir,
    /// The operating system refused something.
    #[error("could not {what}: {path}: {source}; check the folder's permissions and free space")]
    Io {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl Error {
    /// What rustc and cargo said, as they said it, for the user to read above the error's own line; mostly empty.
    pub fn diagnostics(&self) -> &str {
        match self {
            Self::Kernels { diagnostics, .. } | Self::StaleLock { diagnostics, .. } => diagnostics,
            _ => "",
        }
    }

    /// For `map_err`: the operating system refused to do `what` on `path`.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}
