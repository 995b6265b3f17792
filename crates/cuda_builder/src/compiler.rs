//! Which compiler this is: the one cargo uses, asked and never assumed. Runs `rustc` for its version and its sysroot.

use std::path::{Path, PathBuf};

use rustc_version::{VersionMeta, version_meta_for};

use crate::TARGET;
use crate::arch::Arch;
use crate::error::Error;
use crate::machine::Machine;

/// A compiler and the cargo that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    /// The program, by the path in its own toolchain where there is one, so that the folder a build runs in cannot
    /// make rustup choose another.
    pub(crate) rustc: PathBuf,
    pub(crate) cargo: PathBuf,
    pub(crate) sysroot: PathBuf,
    pub(crate) version: VersionMeta,
}

impl Compiler {
    /// Asks the compiler that `RUSTC` names (cargo sets it for build scripts), else the `rustc` that answers in `dir`.
    pub(crate) fn detect(machine: &Machine, dir: &Path) -> Result<Self, Error> {
        let rustc = machine.path_var("RUSTC").unwrap_or_else(|| PathBuf::from("rustc"));
        let ask = |arguments: &[&str]| ask(machine, &rustc, arguments, dir);
        let answer = ask(&["--verbose", "--version"])?;
        let version = version_meta_for(&answer).map_err(|error| Error::Compiler {
            command: format!("{} -vV", rustc.display()),
            reason: error.to_string(),
        })?;
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
        let own = |name: &str| Some(sysroot.join("bin").join(name)).filter(|program| program.is_file());
        let cargo =
            machine.path_var("CARGO").or_else(|| own("cargo")).unwrap_or_else(|| PathBuf::from("cargo"));
        Ok(Self { rustc: own("rustc").unwrap_or(rustc), cargo, sysroot, version })
    }

    /// Refuses architectures that the compiler does not know: asked to compile for one, it warns and takes another.
    pub(crate) fn check<'a>(
        &self,
        machine: &Machine,
        dir: &Path,
        archs: impl IntoIterator<Item = &'a Arch>,
    ) -> Result<(), Error> {
        let answer = ask(machine, &self.rustc, &["--print", "target-cpus", "--target", TARGET], dir)?;
        let known = answer.lines().filter_map(|line| line.split_whitespace().next()).collect::<Vec<_>>();
        match archs.into_iter().find(|arch| !known.contains(&arch.as_str())) {
            Some(arch) => Err(Error::UnknownArch { arch: arch.clone(), release: self.release() }),
            None => Ok(()),
        }
    }

    /// The version number alone, as in the name of a source package: `1.95.0`.
    pub(crate) fn release(&self) -> String {
        self.version.semver.to_string()
    }

    /// The commit the compiler was built from; where a distribution's compiler does not know it, the version.
    pub(crate) fn commit(&self) -> String {
        self.version.commit_hash.clone().unwrap_or_else(|| self.release())
    }

    /// The name rustup knows the toolchain by, where rustup installed it.
    pub(crate) fn rustup_toolchain(&self) -> Option<&str> {
        let in_rustup = self.sysroot.parent()?.file_name()? == "toolchains";
        self.sysroot.file_name()?.to_str().filter(|_| in_rustup)
    }
}

fn ask(machine: &Machine, rustc: &Path, arguments: &[&str], dir: &Path) -> Result<String, Error> {
    let failed = |reason: String| Error::Compiler {
        command: format!("{} {}", rustc.display(), arguments.join(" ")),
        reason,
    };
    let output = machine
        .nested(rustc)
        .args(arguments)
        .current_dir(dir)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().next().unwrap_or("it said nothing").to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("the answer is not UTF-8".to_owned()))
}

#[cfg(test)]
impl Compiler {
    /// A compiler of this version whose sysroot is this folder.
    pub(crate) fn made_up(release: &str, sysroot: &Path) -> Self {
        let text = format!(
            "rustc {release} (0123456789 2026-01-01)\nbinary: rustc\ncommit-hash: 0123456789abcdef\n\
             commit-date: 2026-01-01\nhost: x86_64-unknown-linux-gnu\nrelease: {release}\nLLVM version: 22.1.2\n"
        );
        Self {
            rustc: PathBuf::from("rustc"),
            cargo: PathBuf::from("cargo"),
            sysroot: sysroot.to_owned(),
            version: version_meta_for(&text).unwrap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_that_rustc_names_is_the_one_that_is_asked() {
        let machine = Machine::current().with("RUSTC", "/nowhere/rustc");
        let error = Compiler::detect(&machine, Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/rustc --verbose --version"), "{error}");
    }

    #[test]
    fn a_program_that_is_no_compiler_is_said_to_be_none() {
        let machine = Machine::current();
        let echo = machine.program("echo").unwrap();
        let error = Compiler::detect(&machine.with("RUSTC", echo), Path::new("/")).unwrap_err();
        assert!(matches!(error, Error::Compiler { .. }), "{error}");
    }

    #[test]
    fn this_compiler_answers_with_its_own_cargo() {
        let compiler = Compiler::detect(&Machine::current(), Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(compiler.sysroot.join("lib").is_dir());
        assert_eq!(compiler.release().split('.').count(), 3);
        assert!(compiler.rustc.starts_with(&compiler.sysroot), "{}", compiler.rustc.display());
    }

    #[test]
    fn a_toolchain_of_rustup_is_known_by_name() {
        let of_rustup = Compiler::made_up("1.95.0", Path::new("/home/me/.rustup/toolchains/1.95.0-x86_64"));
        assert_eq!(of_rustup.rustup_toolchain(), Some("1.95.0-x86_64"));
        assert_eq!(Compiler::made_up("1.95.0", Path::new("/usr")).rustup_toolchain(), None);
    }
}
