//! Compiles a kernel crate, written in Rust, to PTX with the stock compiler: no CUDA toolkit, no nightly, no LLVM of
//! one's own. For build scripts ([`CudaBuilder::embed`]), and for programs that compile a learner's crate
//! ([`CudaBuilder::build`]).
//!
//! In reading order: [`arch`](Arch) (what is compiled for), `machine` and `compiler` (what is here), `source` and
//! `debian` (where core comes from), `cache` and `sysroot` (core, compiled once), `compile` and `ptx` (the kernels),
//! `embed` (the build script's side). Two variables are the user's to set: `CUDA_BUILDER_CACHE`, where core is kept, and
//! `CUDA_BUILDER_RUST_SRC`, the standard library's source where nothing else has it.
//!
//! It knows nothing of GPUs or of what the kernels do, and writes only to its cache and to the target folder.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod arch;
mod cache;
mod compile;
mod compiler;
mod debian;
mod embed;
mod error;
mod machine;
mod ptx;
mod source;
mod sysroot;

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

pub use crate::arch::Arch;
pub use crate::error::Error;
pub use crate::sysroot::Core;

use crate::cache::Cache;
use crate::compile::{Compiled, Kernels};
use crate::compiler::Compiler;
use crate::machine::Machine;

/// The compiler's name for the GPU.
const TARGET: &str = "nvptx64-nvidia-cuda";

/// Where cargo lets a build script write.
const OUT_DIR: &str = "OUT_DIR";

/// What is to be compiled, and for what.
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled before `build` or `embed`"]
pub struct CudaBuilder {
    machine: Machine,
    dir: PathBuf,
    archs: Vec<String>,
    target_dir: Option<PathBuf>,
}

impl CudaBuilder {
    /// The kernel crate in this folder, for `sm_75` and `sm_90`. A relative folder is taken from the current one,
    /// which in a build script is that of the package being built.
    pub fn new(kernel_crate: impl AsRef<Path>) -> Self {
        Self {
            machine: Machine::current(),
            dir: kernel_crate.as_ref().to_owned(),
            archs: ["sm_75", "sm_90"].map(str::to_owned).to_vec(),
            target_dir: None,
        }
    }

    /// Compiles for these architectures instead.
    pub fn archs(mut self, archs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.archs = archs.into_iter().map(Into::into).collect();
        self
    }

    /// Compiles in this folder and leaves the PTX there. Without it: in `OUT_DIR` in a build script, else in the
    /// cache.
    pub fn target_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.target_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// Compiles what has changed since the last time, and reads what came of it. Returns when all is done; the first
    /// time on a machine that takes some 20 seconds longer, for core is compiled too.
    ///
    /// # Errors
    /// [`Error::Kernels`] when the kernels do not compile, with rustc's own messages in [`Error::diagnostics`];
    /// [`Error::Unresolved`] when they call what is defined nowhere; [`Error::NoKernel`] when there is none;
    /// [`Error::NoCore`] and its neighbours when no core
    /// library can be had; [`Error::StaleLock`] when the lock file would have to change.
    pub fn build(&self) -> Result<Build, Error> {
        let archs = self.archs.iter().map(|name| Arch::new(name)).collect::<Result<BTreeSet<_>, _>>()?;
        let no_crate = || Error::NoCrate { dir: self.dir.clone() };
        let dir = self
            .dir
            .canonicalize()
            .ok()
            .filter(|dir| dir.join("Cargo.toml").is_file())
            .ok_or_else(no_crate)?;
        let compiler = Compiler::detect(&self.machine, &dir)?;
        compiler.check(&self.machine, &dir, &archs)?;

        let chosen = self.target_dir.as_deref().map(std::path::absolute).transpose();
        let chosen = chosen.map_err(Error::io("name the target folder", &self.dir))?;
        let chosen = chosen.or_else(|| Some(self.machine.path_var(OUT_DIR)?.join("cuda_builder")));
        let cache = Cache::open(&self.machine, chosen.as_ref().map(|dir| dir.join("cache")))?;
        let target_dir = chosen.unwrap_or_else(|| cache.place("kernels").join(folder_name(&dir)));
        fs::create_dir_all(&target_dir).map_err(Error::io("make the target folder", &target_dir))?;
        let _lock = cache::lock(&target_dir.join("cuda_builder.lock"))?;

        let source = source::find(&self.machine, &compiler, &cache)?;
        let core = sysroot::ready(&self.machine, &compiler, &cache, &source)?;
        let kernels = Kernels {
            machine: &self.machine,
            compiler: &compiler,
            dir: &dir,
            target_dir: &target_dir,
            sysroot: core.sysroot(),
        };
        let mut build = Build {
            modules: Vec::new(),
            core: core.clone(),
            diagnostics: String::new(),
            inputs: surroundings(&dir),
        };
        for arch in archs {
            let compiled = kernels.compile(&arch)?;
            build.inputs.extend(compiled.inputs.iter().cloned());
            // What is the same for all architectures is said once.
            if !build.diagnostics.contains(&compiled.diagnostics) {
                build.diagnostics.push_str(&compiled.diagnostics);
            }
            build.modules.push(Ptx::read(arch, compiled)?);
        }
        // One architecture alone may have none: a kernel may be for newer ones only.
        if build.modules.iter().flat_map(|module| &module.kernels).all(|name| ptx::is_librarys(name)) {
            return Err(Error::NoKernel { dir });
        }
        Ok(build)
    }
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Build {
    modules: Vec<Ptx>,
    core: Core,
    diagnostics: String,
    inputs: BTreeSet<PathBuf>,
}

impl Build {
    /// One module for each architecture, oldest first.
    pub fn modules(&self) -> &[Ptx] {
        &self.modules
    }

    /// The core library that is in them.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The compiler's warnings, as it said them; empty when there are none.
    pub fn diagnostics(&self) -> &str {
        &self.diagnostics
    }

    /// The files that decide what the PTX is: sources and manifests of the kernel crate and of its dependencies by
    /// path, the lock file, the toolchain file.
    pub fn inputs(&self) -> &BTreeSet<PathBuf> {
        &self.inputs
    }
}

/// The kernels, compiled for one architecture.
#[derive(Clone, Debug)]
pub struct Ptx {
    /// What it was compiled for.
    pub arch: Arch,
    /// The file.
    pub path: PathBuf,
    /// The PTX version that a driver must know to load it, as (major, minor).
    pub ptx_version: (u32, u32),
    /// The names of the entries, in the file's order: the crate's kernels, their traced twins, and the kernels that
    /// `cuda_std` brings along, which begin with `streamlab_`.
    pub kernels: Vec<String>,
    /// Whether the last build had left it so that there was nothing to compile.
    pub fresh: bool,
}

impl Ptx {
    /// Reads the compiled file, and takes the debug information out of it if core brought some.
    fn read(arch: Arch, Compiled { ptx: path, fresh, .. }: Compiled) -> Result<Self, Error> {
        let mut text = fs::read_to_string(&path).map_err(Error::io("read the PTX", &path))?;
        if let Some(plain) = ptx::without_debug_info(&text) {
            fs::write(&path, &plain).map_err(Error::io("write the PTX", &path))?;
            text = plain;
        }
        let facts = ptx::facts(&text).map_err(|reason| Error::NotPtx { ptx: path.clone(), reason })?;
        if !facts.unresolved.is_empty() {
            return Err(Error::Unresolved { names: facts.unresolved, ptx: path });
        }
        Ok(Self { arch, path, ptx_version: facts.version, kernels: facts.kernels, fresh })
    }
}

/// The files around a kernel crate that it is built by, where they are: the nearest lock file, the workspace's
/// manifest beside it, and the nearest toolchain file.
fn surroundings(dir: &Path) -> BTreeSet<PathBuf> {
    let nearest = |names: &[&str]| {
        dir.ancestors()
            .flat_map(|dir| names.iter().map(|name| dir.join(name)).collect::<Vec<_>>())
            .find(|file| file.is_file())
    };
    let lock = nearest(&["Cargo.lock"]);
    let workspace = lock.as_ref().map(|lock| lock.with_extension("toml")).filter(|file| file.is_file());
    [lock, workspace, nearest(&["rust-toolchain.toml", "rust-toolchain"])].into_iter().flatten().collect()
}

/// A folder's name for this crate and no other.
fn folder_name(dir: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    dir.hash(&mut hasher);
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:016x}", hasher.finish())
}
