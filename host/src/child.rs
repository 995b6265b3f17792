//! The program, started once more by itself: for what ends a process' use of its card, or can be done only once in a
//! process. The one place that starts a process or looks at the environment.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::de::DeserializeOwned;

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

/// The variables that decide where the driver keeps compiled kernels, and when it brings them to the card.
pub fn driver_variables<'a>(cache: &'a EmptyFolder, loading: &'a str) -> [(&'static str, &'a OsStr); 3] {
    [
        ("CUDA_CACHE_PATH", cache.path().as_os_str()),
        ("CUDA_CACHE_DISABLE", OsStr::new("0")),
        ("CUDA_MODULE_LOADING", OsStr::new(loading)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
