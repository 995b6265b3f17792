//! The user's cache folder: where it is, the lock that keeps two builds apart, and the way a thing comes to be in it:
//! made in a room of its own and renamed when it is whole. Writes below its own folder only.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::machine::Machine;

/// Names the cache folder, before all other places.
pub(crate) const CACHE_VAR: &str = "CUDA_BUILDER_CACHE";

/// The other variables that decide where the cache is.
pub(crate) const CACHE_HOMES: [&str; 2] = ["XDG_CACHE_HOME", "HOME"];

/// What the folder of a thing that is still being made begins with.
const UNFINISHED: &str = "unfinished-";

/// The cache folder.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Chooses the folder: `CUDA_BUILDER_CACHE`; else `cuda_builder` in the user's cache folder (`XDG_CACHE_HOME`, or
    /// `.cache` in `HOME`) if it can be written; else `spare`, which belongs to this one build.
    pub(crate) fn open(machine: &Machine, spare: Option<PathBuf>) -> Result<Self, Error> {
        if let Some(dir) = machine.path_var(CACHE_VAR) {
            // Asked for by name, so no other place will do; writing to it may prove unnecessary.
            let dir = std::path::absolute(&dir).map_err(Error::io("name the cache folder", &dir))?;
            return Ok(Self { dir });
        }
        let users = CACHE_HOMES.map(|name| machine.path_var(name).filter(|dir| dir.is_absolute()));
        let users = match users {
            [Some(cache), _] => Some(cache.join("cuda_builder")),
            [None, Some(home)] => Some(home.join(".cache").join("cuda_builder")),
            [None, None] => None,
        };
        let places = users.into_iter().chain(spare).collect::<Vec<_>>();
        let mut reasons = Vec::new();
        for dir in places {
            let cache = Self { dir };
            match cache.lock_file() {
                Ok(_) => return Ok(cache),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::NoCache {
            tried: if reasons.is_empty() { "no HOME is set".to_owned() } else { reasons.join(", ") },
        })
    }

    /// The place of the thing with this name, whether it is there or not.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Gives the thing with this name, making it if it is not there.
    ///
    /// `make` fills a fresh folder, under the cache's lock; only when it succeeds does the folder get its name, in one
    /// step. A build that is killed therefore leaves a folder that nobody takes for whole, and the next one removes it.
    pub(crate) fn get_or_make<E: From<Error>>(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let place = self.place(name);
        if place.is_dir() {
            return Ok(place);
        }
        let _lock = lock(&self.lock_file()?)?;
        // Another build may have made it while this one waited for the lock.
        if !place.is_dir() {
            self.sweep()?;
            let room = self.dir.join(format!("{UNFINISHED}{name}"));
            fs::create_dir_all(&room).map_err(Error::io("make a folder", &room))?;
            if let Err(error) = make(&room) {
                // What is left of it would be removed by the next build anyway.
                let _ = fs::remove_dir_all(&room);
                return Err(error);
            }
            fs::rename(&room, &place).map_err(Error::io("name the finished folder", &place))?;
        }
        Ok(place)
    }

    /// Writes a file of notes for the user, and gives its place.
    pub(crate) fn note(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let place = self.place(name);
        fs::write(&place, text).map_err(Error::io("write the log", &place))?;
        Ok(place)
    }

    /// The lock file, made if it is not there: the test of whether the folder can be written.
    fn lock_file(&self) -> Result<PathBuf, Error> {
        fs::create_dir_all(&self.dir).map_err(Error::io("make the cache folder", &self.dir))?;
        let path = self.dir.join("lock");
        open(&path).map(|_| path)
    }

    /// Removes what killed builds left; the caller holds the lock, so nobody is at work in there.
    fn sweep(&self) -> Result<(), Error> {
        let entries = fs::read_dir(&self.dir).map_err(Error::io("list the cache folder", &self.dir))?;
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_dir_all(entry.path()).map_err(Error::io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Waits until this process alone holds the lock file; the lock is given back when the file is closed.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let file = open(path)?;
    match file.lock() {
        // A file system without locks: two builds at once are then the user's to avoid, and one alone still works.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(error) => Err(Error::io("lock", path)(error)),
        Ok(()) => Ok(file),
    }
}

fn open(path: &Path) -> Result<File, Error> {
    let file = File::options().create(true).truncate(false).write(true).open(path);
    file.map_err(Error::io("open the lock file", path))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn cache(dir: &Path) -> Cache {
        Cache::open(&Machine::made_up(dir, &[(CACHE_VAR, dir.as_os_str())]), None).unwrap()
    }

    #[test]
    fn the_first_place_that_is_named_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let [ours, xdg, home, spare] = ["ours", "xdg", "home", "spare"].map(at);
        let all =
            [(CACHE_VAR, ours.as_os_str()), ("XDG_CACHE_HOME", xdg.as_os_str()), ("HOME", home.as_os_str())];
        let expected =
            [ours.clone(), xdg.join("cuda_builder"), home.join(".cache/cuda_builder"), spare.clone()];
        for (first, expected) in expected.iter().enumerate() {
            let machine = Machine::made_up(dir.path(), &all[first..]);
            assert_eq!(&Cache::open(&machine, Some(spare.clone())).unwrap().dir, expected);
        }
    }

    #[test]
    fn a_relative_cache_home_is_ignored_as_its_specification_says() {
        let dir = tempfile::tempdir().unwrap();
        let vars = [("XDG_CACHE_HOME", OsStr::new("somewhere")), ("HOME", dir.path().as_os_str())];
        let cache = Cache::open(&Machine::made_up(dir.path(), &vars), None).unwrap();
        assert_eq!(cache.dir, dir.path().join(".cache/cuda_builder"));
    }

    #[test]
    fn a_cache_home_that_cannot_be_written_gives_way_to_the_spare_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        // Nothing can be made below a file, for root as little as for anyone.
        let machine = Machine::made_up(dir.path(), &[("HOME", file.as_os_str())]);
        let spare = dir.path().join("spare");
        assert_eq!(Cache::open(&machine, Some(spare.clone())).unwrap().dir, spare);
        let error = Cache::open(&machine, None).unwrap_err().to_string();
        assert!(error.contains(CACHE_VAR) && error.contains(&*file.to_string_lossy()), "{error}");
        let error = Cache::open(&Machine::made_up(dir.path(), &[]), None).unwrap_err().to_string();
        assert!(error.contains("no HOME is set"), "{error}");
    }

    #[test]
    fn a_cache_that_was_named_gives_way_to_no_other_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let machine =
            Machine::made_up(dir.path(), &[(CACHE_VAR, file.as_os_str()), ("HOME", dir.path().as_os_str())]);
        let cache = Cache::open(&machine, Some(dir.path().join("spare"))).unwrap();
        let error = cache.get_or_make("thing", |_| Ok::<_, Error>(())).unwrap_err().to_string();
        assert!(error.contains(&*file.to_string_lossy()), "{error}");
    }

    #[test]
    fn what_a_killed_build_left_is_not_taken_for_whole_and_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        let left = dir.path().join("unfinished-thing");
        fs::create_dir_all(&left).unwrap();
        fs::write(left.join("half"), "").unwrap();
        let place = cache.get_or_make("thing", |room| {
            assert_eq!(fs::read_dir(room).unwrap().count(), 0);
            fs::write(room.join("whole"), "").map_err(Error::io("write", room))
        });
        let place = place.unwrap();
        assert!(place.join("whole").is_file() && !place.join("half").exists() && !left.exists());
    }

    #[test]
    fn what_could_not_be_made_is_not_there_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        let failed = cache.get_or_make("thing", |_| Err(Error::Arch { name: String::new() }));
        assert!(failed.is_err());
        let left = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
    }

    #[test]
    fn of_many_who_want_it_at_once_one_makes_it() {
        let dir = tempfile::tempdir().unwrap();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let place = cache(dir.path()).get_or_make("thing", |room| {
                        made.fetch_add(1, Ordering::Relaxed);
                        fs::write(room.join("whole"), "").map_err(Error::io("write", room))
                    });
                    assert!(place.unwrap().join("whole").is_file());
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
