//! The program, started once more by itself: for what ends a process' use of its device, or can be done only once in a
//! process. The one place that starts a process or looks at the environment.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use clap::ValueEnum;
use serde::de::DeserializeOwned;

use crate::cli::Common;

/// What `child` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct ChildArgs {
    /// What happens in it
    #[arg(value_enum)]
    pub scene: Scene,
    /// What every command takes.
    #[command(flatten)]
    pub common: Common,
}

/// What a lesson does in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scene {
    /// A kernel writes out of bounds, and the program goes on
    Fault,
    /// A kernel writes out of bounds, with a wait after each launch
    CheckedFault,
    /// A kernel writes to address 0, and the program ends with the error that it gets
    NullStore,
    /// The device is opened, and every step is timed
    Startup,
}

impl Scene {
    /// Returns the words that start this scene on the device of `common`.
    pub fn words(self, common: &Common) -> Vec<String> {
        let scene = self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let Common { device, schedule, threads, .. } = common;
        let mut words = vec!["child".to_owned(), scene, format!("--device={device}")];
        words.push(format!("--schedule={schedule}"));
        words.extend(threads.map(|threads| format!("--threads={threads}")));
        words
    }
}

/// Why there is no document of a child.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started.
    #[error("the program could not start itself again: {0}; is its file still where it was?")]
    NotStarted(#[from] io::Error),
    /// There is no folder for what it keeps.
    #[error("make the folder `{}`: {error}; TMPDIR names a folder where temporary files may be", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It ended with an error.
    #[error("the child process ended with {status}: {says}")]
    Ended {
        /// How.
        status: process::ExitStatus,
        /// What it printed on standard error.
        says: String,
    },
    /// There is no cargo.
    #[error("start `{}`: {error}; cargo builds the exercise: install Rust, or set PATH to find it", program.display())]
    NoCargo {
        /// What was started.
        program: PathBuf,
        /// Why it was not.
        error: io::Error,
    },
    /// What it printed is not what was expected.
    #[error("the child process printed something else than its document: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Runs this program with these words, and these variables set in its environment beside the ones that are there, and reads
/// the document that it prints.
///
/// # Errors
///
/// [`ChildError`].
pub fn run<T: DeserializeOwned>(words: &[String], variables: &[(&str, &OsStr)]) -> Result<T, ChildError> {
    let output = Command::new(env::current_exe()?)
        .args(words)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let says = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " | ");
        return Err(ChildError::Ended { status: output.status, says });
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Runs cargo in this folder, with this program's input and output, and returns its exit code; `None` where a signal ended it. It is
/// the cargo that started this program, else the one that the shell would find.
///
/// # Errors
///
/// [`ChildError::NoCargo`].
pub fn cargo(folder: &Path, words: &[String]) -> Result<Option<i32>, ChildError> {
    let program = env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    match Command::new(&program).args(words).current_dir(folder).status() {
        Ok(status) => Ok(status.code()),
        Err(error) => Err(ChildError::NoCargo { program, error }),
    }
}

/// An empty folder, for as long as this lives.
#[derive(Debug)]
pub struct EmptyFolder(PathBuf);

impl EmptyFolder {
    /// Makes it, where the machine keeps temporary files.
    ///
    /// # Errors
    ///
    /// [`ChildError::NoFolder`].
    pub fn new() -> Result<Self, ChildError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("streamlab-{}-{number}", process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Ok(EmptyFolder(path)),
            Err(error) => Err(ChildError::NoFolder { path, error }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        // What is left behind is a temporary file; there is nobody to be told.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The variables that decide where the driver keeps compiled kernels, and when it brings them to the device.
pub fn driver_variables<'a>(cache: &'a EmptyFolder, loading: &'a str) -> [(&'static str, &'a OsStr); 3] {
    [
        ("CUDA_CACHE_PATH", cache.path().as_os_str()),
        ("CUDA_CACHE_DISABLE", OsStr::new("0")),
        ("CUDA_MODULE_LOADING", OsStr::new(loading)),
    ]
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn child(words: impl IntoIterator<Item = String>) -> ChildArgs {
        let matches = ChildArgs::augment_args(Command::new("child")).get_matches_from(words);
        ChildArgs::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn a_child_reads_the_words_that_it_is_started_with() {
        for typed in [
            "--device virtual:t4 --schedule late --threads 3",
            "--device virtual:h200",
            "--device gpu:2",
            "--device auto",
        ] {
            let words = format!("child fault {typed}");
            let typed = child(words.split(' ').map(str::to_owned)).common;
            for &scene in Scene::value_variants() {
                let child = child(scene.words(&typed));
                assert_eq!((child.scene, child.common.options()), (scene, typed.options()));
            }
        }
    }

    #[test]
    fn a_folder_is_empty_and_gone_afterwards() {
        let (one, other) = (EmptyFolder::new().unwrap(), EmptyFolder::new().unwrap());
        assert_ne!(one.path(), other.path());
        let path = one.path().to_owned();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::write(path.join("kernel"), "x").unwrap();
        drop(one);
        assert!(!path.exists() && other.path().exists());
    }

    /// The program of a unit test is the tests' own, which knows no lesson.
    #[test]
    fn a_child_that_fails_is_told_with_what_it_said_and_one_that_prints_something_else_too() {
        let run = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
            run::<u32>(&words, &[]).unwrap_err().to_string()
        };
        let error = run(&["--no-such-option"]);
        assert!(
            error.starts_with("the child process ended with exit status: ")
                && error.contains("no-such-option")
        );
        assert!(!error.contains('\n'), "{error}");
        let error = run(&["--list", "no-such-test"]);
        assert!(error.starts_with("the child process printed something else than its document: "), "{error}");
    }
}
