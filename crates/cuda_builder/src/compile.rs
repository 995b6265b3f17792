//! Compiles one kernel crate for one architecture, with a cargo of its own that knows nothing of the build around it.
//! Writes to its own target folder only, never to the source tree.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::TARGET;
use crate::arch::Arch;
use crate::compiler::Compiler;
use crate::error::Error;
use crate::machine::Machine;

/// A profile of our own, so that what the user's profiles say does not reach the kernels.
const PROFILE: &str = "cuda_builder";
const SETTINGS: [&str; 10] = [
    "inherits='release'",
    "opt-level=3",
    "lto='fat'",
    "codegen-units=1",
    "panic='abort'",
    "debug=0",
    "strip='none'",
    "debug-assertions=false",
    "overflow-checks=false",
    "incremental=false",
];

/// Everything that is the same for all architectures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernels<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) compiler: &'a Compiler,
    /// The kernel crate.
    pub(crate) dir: &'a Path,
    pub(crate) target_dir: &'a Path,
    /// Where core is, if not in the toolchain.
    pub(crate) sysroot: Option<&'a Path>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) ptx: PathBuf,
    /// Whether cargo found nothing to do.
    pub(crate) fresh: bool,
    /// Warnings, as rustc said them.
    pub(crate) diagnostics: String,
    /// The files that went into it: sources and manifests of the kernel crate and of its dependencies by path.
    pub(crate) inputs: BTreeSet<PathBuf>,
}

impl Kernels<'_> {
    /// Compiles for `arch`. The architectures share the target folder, so that procedural macros, which run on the
    /// host, are compiled once; cargo keeps what is compiled with different flags apart.
    pub(crate) fn compile(&self, arch: &Arch) -> Result<Compiled, Error> {
        let ptx = self.target_dir.join(format!("{arch}.ptx"));
        let compiled = self.run_cargo(arch, &ptx)?;
        if ptx.is_file() {
            return Ok(compiled);
        }
        // cargo does not know of this file, so it cannot miss it: make it forget what it compiled for the GPU.
        let forget = self.target_dir.join(TARGET);
        fs::remove_dir_all(&forget).map_err(Error::io("remove", &forget))?;
        self.run_cargo(arch, &ptx)
    }

    fn run_cargo(&self, arch: &Arch, ptx: &Path) -> Result<Compiled, Error> {
        let mut cargo = self.machine.nested(&self.compiler.cargo);
        // A static library goes through link-time optimization as a dynamic one does, and no linker is ever run.
        // Without `link`, link-time optimization is left out, and core's functions stay declared and undefined.
        cargo
            .args(["rustc", "--quiet", "--locked", "--lib", "--crate-type", "staticlib", "--target", TARGET])
            .args(["--message-format", "json-render-diagnostics", "--profile", PROFILE])
            .args(
                SETTINGS
                    .iter()
                    .flat_map(|setting| ["--config".to_owned(), format!("profile.{PROFILE}.{setting}")]),
            )
            .arg("--target-dir")
            .arg(self.target_dir)
            .arg("--manifest-path")
            .arg(self.manifest())
            .arg("--")
            .arg(emit(ptx)?)
            // In the kernel crate's folder, where cargo finds the configuration that names its registries.
            .current_dir(self.dir)
            .env("RUSTC", &self.compiler.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_BUILD_BUILD_DIR", self.target_dir)
            // A folder that no source is in, so that the list of sources has whole paths whatever the user says.
            .env("CARGO_BUILD_DEP_INFO_BASEDIR", self.target_dir.join("nothing"))
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags(arch)?);
        let output = cargo.output().map_err(Error::io("run cargo", &self.compiler.cargo))?;
        let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return self.read_messages(&output, ptx, diagnostics);
        }
        if diagnostics.contains("because --locked was passed") {
            return Err(Error::StaleLock { manifest: self.manifest(), diagnostics });
        }
        Err(Error::Kernels { arch: arch.clone(), dir: self.dir.to_owned(), diagnostics })
    }

    fn manifest(&self) -> PathBuf {
        self.dir.join("Cargo.toml")
    }

    /// The flags in the one variable that wins over all the user's, and in which a path may have a space.
    fn rustflags(&self, arch: &Arch) -> Result<String, Error> {
        let mut flags = vec![format!("-Ctarget-cpu={arch}")];
        if let Some(sysroot) = self.sysroot {
            let path = || sysroot.to_owned();
            let text =
                sysroot.to_str().ok_or_else(|| Error::Path { path: path(), reason: "it is not UTF-8" })?;
            flags.push("--sysroot".to_owned());
            flags.push(text.to_owned());
        }
        Ok(flags.join("\x1f"))
    }

    /// Reads cargo's account of what it compiled.
    fn read_messages(&self, output: &Output, ptx: &Path, diagnostics: String) -> Result<Compiled, Error> {
        let mut compiled =
            Compiled { ptx: ptx.to_owned(), fresh: false, diagnostics, inputs: BTreeSet::new() };
        let messages = output.stdout.split(|byte| *byte == b'\n');
        let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for artifact in messages.filter(|message| message["reason"] == "compiler-artifact") {
            let Some(manifest) = artifact["manifest_path"].as_str().map(Path::new) else {
                continue;
            };
            if artifact["package_id"].as_str().is_some_and(|id| id.starts_with("path+")) {
                compiled.inputs.insert(manifest.to_owned());
            }
            if manifest == self.manifest() && artifact["target"]["kind"][0] == "staticlib" {
                compiled.fresh = artifact["fresh"] == true;
                if let Some(library) = artifact["filenames"][0].as_str() {
                    let list = Path::new(library).with_extension("d");
                    let text = fs::read_to_string(&list).map_err(Error::io("read", &list))?;
                    let files = prerequisites(&text).into_iter();
                    // What a build script has generated in there follows from the other files.
                    compiled.inputs.extend(files.filter(|file| !file.starts_with(self.target_dir)));
                }
            }
        }
        Ok(compiled)
    }
}

/// The argument that makes rustc write PTX to this file.
fn emit(ptx: &Path) -> Result<OsString, Error> {
    if ptx.as_os_str().as_encoded_bytes().contains(&b',') {
        return Err(Error::Path { path: ptx.to_owned(), reason: "rustc takes a comma for the end of it" });
    }
    let mut argument = OsString::from("--emit=link,asm=");
    argument.push(ptx);
    Ok(argument)
}

/// The files behind the colon of cargo's list, which is a rule for `make`: spaces in names are escaped.
fn prerequisites(rule: &str) -> Vec<PathBuf> {
    // No path has this character in it.
    const SPACE: &str = "\0";
    let rule = rule.replace("\\ ", SPACE);
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    files.split_whitespace().map(|file| PathBuf::from(file.replace(SPACE, " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_sources_may_have_spaces_in_it() {
        let rule = "/out\\ of/libk.a: /a\\ b/src/lib.rs /a\\ b/src/c.rs\n";
        let expected = ["/a b/src/lib.rs", "/a b/src/c.rs"].map(PathBuf::from);
        assert_eq!(prerequisites(rule), expected);
        assert_eq!(prerequisites("/out/libk.a:\n").len(), 0);
    }

    #[test]
    fn a_path_that_rustc_would_misread_is_refused() {
        let error = emit(Path::new("/a,b/sm_75.ptx")).unwrap_err().to_string();
        assert!(error.contains("/a,b/sm_75.ptx") && error.contains("comma"), "{error}");
        assert_eq!(emit(Path::new("/a b/sm_75.ptx")).unwrap(), "--emit=link,asm=/a b/sm_75.ptx");
    }
}
