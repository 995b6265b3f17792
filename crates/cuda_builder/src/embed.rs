//! What a build script does with a build: tells cargo when to run it again, and writes the Rust source that the host
//! crate includes. The only part of this crate that prints, for that is how a build script speaks to cargo.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use crate::cache::{CACHE_HOMES, CACHE_VAR};
use crate::error::Error;
use crate::source::SOURCE_VAR;
use crate::{Build, CudaBuilder, OUT_DIR, Ptx};

/// The variables that this crate reads.
const VARS: [&str; 4] = [SOURCE_VAR, CACHE_VAR, CACHE_HOMES[0], CACHE_HOMES[1]];

impl CudaBuilder {
    /// All that a build script has to do: builds, tells cargo when to build again, and writes `ptx.rs` to `OUT_DIR`
    /// for the host crate to include. An error is printed on one line, below what the compiler said.
    ///
    /// ```no_run
    /// fn main() -> std::process::ExitCode {
    ///     cuda_builder::CudaBuilder::new("../gpu").embed()
    /// }
    /// ```
    ///
    /// The host crate then has the modules, oldest architecture first, with
    /// `mod ptx { include!(concat!(env!("OUT_DIR"), "/ptx.rs")); }`; see [`Build::rust_source`].
    #[expect(
        clippy::print_stdout,
        clippy::print_stderr,
        reason = "a build script speaks to cargo by printing"
    )]
    pub fn embed(self) -> ExitCode {
        match self.write_source() {
            Ok(build) => {
                print!("{}", build.directives());
                eprint!("{}", build.diagnostics());
                eprintln!("{}", build.core());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprint!("{}", error.diagnostics());
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn write_source(&self) -> Result<Build, Error> {
        let out = self.machine.path_var(OUT_DIR).ok_or(Error::NoOutDir)?;
        let build = self.build()?;
        let file = out.join("ptx.rs");
        fs::write(&file, build.rust_source()).map_err(Error::io("write", &file))?;
        Ok(build)
    }
}

impl Build {
    /// The lines that tell cargo to run the build script again when a source, a manifest, the lock file, the
    /// toolchain file or a variable that was read changes, and never else.
    pub fn directives(&self) -> String {
        let files = self.inputs().iter().map(|file| format!("cargo::rerun-if-changed={}\n", file.display()));
        let vars = VARS.iter().map(|name| format!("cargo::rerun-if-env-changed={name}\n"));
        files.chain(vars).collect()
    }

    /// Rust source that holds the PTX: `struct Image`, `static IMAGES` with one for each architecture, oldest first,
    /// and `const CORE`, the line that says which core they were compiled with.
    pub fn rust_source(&self) -> String {
        let mut modules = String::new();
        for Ptx { arch, path, ptx_version, kernels, .. } in self.modules() {
            let (name, capability) = (arch.as_str(), arch.capability());
            // Writing to a string does not fail.
            let _ = write!(
                modules,
                "\n    Image {{\n        arch: {name:?},\n        capability: {capability:?},\n        \
                 ptx_version: {ptx_version:?},\n        kernels: &{kernels:?},\n        \
                 text: include_str!({path:?}),\n    }},"
            );
        }
        TEMPLATE.replace("{modules}", &modules).replace("{core}", &format!("{:?}", self.core().to_string()))
    }
}

const TEMPLATE: &str = r#"// Written by cuda_builder.

/// The kernels, compiled for one architecture.
#[derive(Debug)]
#[allow(dead_code, reason = "a host crate may need a part of it only")]
pub struct Image {
    /// The architecture as rustc names it.
    pub arch: &'static str,
    /// The compute capability that the module needs, as (major, minor).
    pub capability: (u32, u32),
    /// The PTX version that the driver must know, as (major, minor).
    pub ptx_version: (u32, u32),
    /// The kernels' names.
    pub kernels: &'static [&'static str],
    /// The PTX.
    pub text: &'static str,
}

/// One module for each architecture, oldest first.
pub static IMAGES: &[Image] = &[{modules}
];

/// Where the core library in these modules came from.
#[allow(dead_code, reason = "a host crate may need a part of it only")]
pub const CORE: &str = {core};
"#;
