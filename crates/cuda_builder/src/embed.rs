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

    /// Rust source that holds the PTX: `static IMAGES`, a `cuda_std::abi::Image` for each architecture, oldest first,
    /// and `const CORE`, the line that says which core they were compiled with. The crate that includes it depends on
    /// `cuda_std`.
    pub fn rust_source(&self) -> String {
        let mut modules = String::new();
        for Ptx { arch, path, ptx_version, kernels, .. } in self.modules() {
            let (name, capability) = (arch.as_str(), arch.capability());
            // Writing to a string does not fail.
            let _ = write!(
                modules,
                "\n    ::cuda_std::abi::Image {{\n        arch: {name:?},\n        capability: {capability:?},\n        \
                 ptx_version: {ptx_version:?},\n        kernels: &{kernels:?},\n        \
                 text: include_str!({path:?}),\n    }},"
            );
        }
        TEMPLATE.replace("{modules}", &modules).replace("{core}", &format!("{:?}", self.core().to_string()))
    }
}

const TEMPLATE: &str = r#"// Written by cuda_builder.

/// One module for each architecture, oldest first.
pub static IMAGES: &[::cuda_std::abi::Image] = &[{modules}
];

/// Where the core library in these modules came from.
#[allow(dead_code, reason = "a host crate may need a part of it only")]
pub const CORE: &str = {core};
"#;
