//! The machine as this crate sees it: environment variables, programs on `PATH`, the root of the file system. All
//! else asks here and never `std::env`, so that a test can hand in a machine of its own making. Reads only.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the nested builds inherit although its name begins like something that they must not.
const KEPT: &[&str] =
    &["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_TERM_COLOR", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR"];

/// The beginnings of names that carry the outer build's settings: the user's flags, wrappers and profiles, what cargo
/// tells a build script about the crate it belongs to, and what clippy leaves for its driver.
const DROPPED: &[&str] = &["CARGO_", "__CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY_", "DEP_"];

/// Whole names of the same kind, as cargo sets them for build scripts.
const DROPPED_NAMES: &[&str] =
    &["CARGO", "OUT_DIR", "TARGET", "HOST", "PROFILE", "OPT_LEVEL", "DEBUG", "NUM_JOBS"];

/// Whether a nested build may see the variable: everything but the outer build's own settings.
fn is_inherited(name: &str) -> bool {
    // Procedural macros are linked for the machine itself, perhaps with a linker that only this names.
    let host_linker = name.starts_with("CARGO_TARGET_") && name.ends_with("_LINKER");
    let kept = host_linker || KEPT.iter().any(|kept| name.starts_with(kept));
    let dropped = DROPPED_NAMES.contains(&name) || DROPPED.iter().any(|dropped| name.starts_with(dropped));
    kept || !dropped
}

/// Environment, programs and files of one machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    vars: BTreeMap<OsString, OsString>,
    root: PathBuf,
}

impl Machine {
    /// This machine, with the environment of this process as it is now.
    pub(crate) fn current() -> Self {
        Self { vars: env::vars_os().collect(), root: PathBuf::from("/") }
    }

    /// A variable's value; a variable that is set to nothing counts as not set.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// A variable that names a folder or file.
    pub(crate) fn path_var(&self, name: &str) -> Option<PathBuf> {
        self.var(name).map(PathBuf::from)
    }

    /// A place below the root of the file system, named without the leading slash.
    pub(crate) fn place(&self, below_root: &str) -> PathBuf {
        self.root.join(below_root)
    }

    /// Where a program of this name lies on `PATH`.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let folders = env::split_paths(self.var("PATH")?).collect::<Vec<_>>();
        folders.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
    }

    /// A program with the machine's whole environment.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.vars);
        command
    }

    /// A compiler or cargo that must know nothing of the build around it.
    ///
    /// The wrappers are set to nothing and not left out, because only that also silences one from a configuration
    /// file.
    pub(crate) fn nested(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let inherited = self.vars.iter().filter(|(name, _)| is_inherited(&name.to_string_lossy()));
        command.env_clear().envs(inherited);
        command.env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
        command
    }
}

#[cfg(test)]
impl Machine {
    /// A machine with these variables, and this folder for its root.
    pub(crate) fn made_up(root: &Path, vars: &[(&str, &OsStr)]) -> Self {
        let vars = vars.iter().map(|(name, value)| (OsString::from(name), value.to_os_string())).collect();
        Self { vars, root: root.to_owned() }
    }

    /// Returns this machine with one more variable.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.vars.insert(name.into(), value.as_ref().to_os_string());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_builds_settings_are_not_inherited() {
        let dropped = "RUSTFLAGS RUSTDOCFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC RUSTC_WRAPPER \
            RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER RUSTC_LINKER RUSTC_BOOTSTRAP RUSTDOC CLIPPY_ARGS \
            CLIPPY_CONF_DIR CARGO CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR CARGO_BUILD_BUILD_DIR CARGO_BUILD_TARGET \
            CARGO_TARGET_TMPDIR CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS CARGO_PROFILE_RELEASE_LTO \
            CARGO_INCREMENTAL CARGO_UNSTABLE_BUILD_STD CARGO_TERM_VERBOSE CARGO_TERM_PROGRESS_WHEN CARGO_LOG \
            CARGO_MANIFEST_DIR CARGO_PKG_NAME CARGO_CFG_TARGET_OS CARGO_FEATURE_STD CARGO_PRIMARY_PACKAGE \
            __CARGO_DEFAULT_LIB_METADATA DEP_CUDA_ROOT OUT_DIR TARGET HOST PROFILE OPT_LEVEL DEBUG NUM_JOBS";
        for name in dropped.split_whitespace() {
            assert!(!is_inherited(name), "{name}");
        }
    }

    #[test]
    fn what_a_build_needs_to_run_at_all_is_inherited() {
        let kept = "PATH HOME TMPDIR LANG LD_LIBRARY_PATH http_proxy CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN \
            RUSTUP_AUTO_INSTALL CARGO_MAKEFLAGS MAKEFLAGS CARGO_TERM_COLOR CARGO_NET_OFFLINE CARGO_HTTP_PROXY \
            CARGO_REGISTRY_DEFAULT CARGO_REGISTRIES_MIRROR_INDEX CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER CC";
        for name in kept.split_whitespace() {
            assert!(is_inherited(name), "{name}");
        }
    }

    #[test]
    fn wrappers_are_silenced_even_where_a_configuration_file_names_one() {
        let machine = Machine::made_up(Path::new("/"), &[("RUSTC_WRAPPER", OsStr::new("sccache"))]);
        let command = machine.nested(Path::new("cargo"));
        let set = command.get_envs().collect::<Vec<_>>();
        for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            assert!(set.contains(&(OsStr::new(name), Some(OsStr::new("")))), "{name}");
        }
    }

    #[test]
    fn a_program_is_found_on_path_and_only_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tool"), "").unwrap();
        let machine = Machine::made_up(folder.path(), &[("PATH", folder.path().as_os_str())]);
        assert_eq!(machine.program("tool"), Some(folder.path().join("tool")));
        assert_eq!(machine.program("cargo"), None);
    }
}
