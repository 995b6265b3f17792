//! A file that is there whole or not at all. It knows nothing of what is in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written under a name of its own, beside the one that it will have.
#[derive(Debug)]
pub struct Draft {
    file: File,
    draft: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Begins a file that will be at `path`: fails at once where it could not be written.
    ///
    /// # Errors
    ///
    /// Those of making the file; `path` is a folder.
    pub fn new(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let draft = path.with_file_name(hidden);
        Ok(Draft { file: File::create(&draft)?, draft, path: path.to_owned() })
    }

    /// Writes the text, and gives the file its name. What was there before is replaced.
    ///
    /// # Errors
    ///
    /// Those of writing; the draft is then gone, and what was there before stays.
    pub fn finish(mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        fs::rename(&self.draft, &self.path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Gone already when it was finished.
        _ = fs::remove_file(&self.draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("streamlab-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn files(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_draft_takes_the_place_of_the_file_when_it_is_finished_and_leaves_nothing_when_it_is_not() {
        let folder = folder("draft");
        let path = folder.join("a.svg");
        fs::write(&path, "old").unwrap();
        drop(Draft::new(&path).unwrap());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), files(&folder).len()), ("old", 1));
        Draft::new(&path).unwrap().finish("new").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), files(&folder).len()), ("new", 1));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_known_before_anything_is_drawn() {
        let folder = folder("no-draft");
        for path in [folder.clone(), folder.join("missing/a.svg"), PathBuf::from("/"), PathBuf::from("..")] {
            assert!(Draft::new(&path).is_err(), "{path:?}");
        }
        assert_eq!(files(&folder), [""; 0]);
        fs::remove_dir_all(folder).unwrap();
    }
}
