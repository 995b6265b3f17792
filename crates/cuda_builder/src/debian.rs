//! The chain's last link: Debian's `rust-src` of exactly the compiler's version, for a machine whose rustup may not
//! download. It uses the mirror that the machine's apt uses, and lists, state and cache of its own, so apt's set-up
//! stays as it is and root is not needed. Writes to the cache only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::error::Error;
use crate::machine::Machine;

/// The suite that has the compiler of `rust-toolchain.toml`.
const SUITE: &str = "trixie-backports";

/// A package whose content is known: no other file is taken for it, whoever signed it.
const PINNED_VERSION: &str = "1.95.0+dfsg1-2~bpo13+1";
const PINNED_SHA256: &str = "7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b";

/// Where Debian keeps the keys of its archive, below the file system's root.
const KEYRINGS: [&str; 2] =
    ["usr/share/keyrings/debian-archive-keyring.pgp", "usr/share/keyrings/debian-archive-keyring.gpg"];

/// The source, unpacked.
pub(crate) struct Package {
    pub(crate) library: PathBuf,
    /// Debian's version of it.
    pub(crate) version: String,
}

/// One sentence on what is missing here, or what a tool said.
#[derive(Debug)]
pub(crate) struct Reason(pub(crate) String);

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

/// Gives the source of rustc `release`, from the cache if it was fetched before.
pub(crate) fn fetch(machine: &Machine, release: &str, cache: &Cache) -> Result<Package, Reason> {
    let place = cache.get_or_make(&format!("debian-rust-src-{release}"), |room| {
        Fetch::prepare(machine, release, room)?.run()
    })?;
    let note = place.join("version");
    let version = fs::read_to_string(&note).map_err(Error::io("read", &note))?;
    Ok(Package { library: place.join("library"), version })
}

/// One fetch, in a folder of its own.
struct Fetch<'a> {
    machine: &'a Machine,
    release: &'a str,
    room: &'a Path,
    apt_get: PathBuf,
    dpkg_deb: PathBuf,
    sha256sum: PathBuf,
}

impl<'a> Fetch<'a> {
    fn prepare(machine: &'a Machine, release: &'a str, room: &'a Path) -> Result<Self, Reason> {
        let program = |name: &str| machine.program(name).ok_or_else(|| Reason(format!("no {name} on PATH")));
        let fetch = Self {
            machine,
            release,
            room,
            apt_get: program("apt-get")?,
            dpkg_deb: program("dpkg-deb")?,
            sha256sum: program("sha256sum")?,
        };
        for folder in ["state/lists/partial", "cache/archives/partial"] {
            let folder = room.join("apt").join(folder);
            fs::create_dir_all(&folder).map_err(Error::io("make a folder", &folder))?;
        }
        fetch.write("apt/status", "")?;
        fetch.write("apt/conf", &configuration(&room.join("apt")))?;
        Ok(fetch)
    }

    /// Leaves `library` and `version` in the room, and nothing else.
    fn run(&self) -> Result<(), Reason> {
        let mut said = Vec::new();
        for mirror in self.mirrors()? {
            match self.download(&mirror) {
                Ok(deb) => return self.unpack(&deb),
                Err(Reason(reason)) => said.push(format!("{mirror}: {reason}")),
            }
        }
        Err(Reason(if said.is_empty() { "apt names no mirror".to_owned() } else { said.join(", ") }))
    }

    /// The mirrors that the machine's apt uses, as it names them, without repetition.
    fn mirrors(&self) -> Result<Vec<String>, Reason> {
        let mut command = self.machine.command(&self.apt_get);
        let text = say(command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]))?;
        let mut mirrors = Vec::new();
        for mirror in text.lines().map(str::trim).filter(|mirror| !mirror.is_empty()) {
            if !mirrors.iter().any(|known| known == mirror) {
                mirrors.push(mirror.to_owned());
            }
        }
        Ok(mirrors)
    }

    /// Downloads the package and checks that it is what Debian published: by the archive's signature, which apt
    /// checks, and by the pinned checksum where the version has one. A machine from before the suite's time does not
    /// have its key; there the checksum stands alone, and without one there is no package.
    fn download(&self, mirror: &str) -> Result<PathBuf, Reason> {
        let pinned = version_is_of(PINNED_VERSION, self.release);
        let keyring =
            KEYRINGS.iter().map(|keyring| self.machine.place(keyring)).find(|keyring| keyring.is_file());
        let signed_by =
            keyring.map(|keyring| format!("[signed-by={}] ", keyring.display())).unwrap_or_default();
        let mut version = format!("{}*", self.release);
        if let Err(reason) = self.update(&signed_by, mirror) {
            if !(pinned && reason.0.contains("is not signed")) {
                return Err(reason);
            }
            self.update("[trusted=yes] ", mirror)?;
            version = PINNED_VERSION.to_owned();
        }
        self.apt(&["download", &format!("rust-src={version}")])?;
        let deb = self.downloaded()?;
        if version_of(&deb) == Some(PINNED_VERSION) {
            let sum = say(self.machine.command(&self.sha256sum).arg(&deb))?;
            let sum = sum.split_whitespace().next().unwrap_or_default();
            if sum != PINNED_SHA256 {
                return Err(Reason(format!("the package has sha256 {sum}, expected {PINNED_SHA256}")));
            }
        } else if version == PINNED_VERSION {
            return Err(Reason("apt gave another version than the one asked for".to_owned()));
        }
        Ok(deb)
    }

    fn update(&self, options: &str, mirror: &str) -> Result<(), Reason> {
        self.write("apt/sources.list", &format!("deb {options}{mirror} {SUITE} main\n"))?;
        self.apt(&["-qq", "update"]).map(drop)
    }

    fn apt(&self, arguments: &[&str]) -> Result<String, Reason> {
        let mut command = self.machine.command(&self.apt_get);
        say(command.arg("-c").arg(self.room.join("apt/conf")).args(arguments).current_dir(self.room))
    }

    /// The one package in the room.
    fn downloaded(&self) -> Result<PathBuf, Reason> {
        let files = fs::read_dir(self.room).map_err(Error::io("list", self.room))?;
        let mut files = files.flatten().map(|file| file.path());
        let is_deb = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "deb");
        files.find(is_deb).ok_or_else(|| Reason("apt-get downloaded nothing".to_owned()))
    }

    fn unpack(&self, deb: &Path) -> Result<(), Reason> {
        let tree = self.room.join("tree");
        say(self.machine.command(&self.dpkg_deb).arg("-x").arg(deb).arg(&tree))?;
        let library = tree.join(format!("usr/src/rustc-{}/library", self.release));
        fs::rename(&library, self.room.join("library")).map_err(Error::io("move the library", &library))?;
        self.write("version", version_of(deb).unwrap_or(self.release))?;
        for folder in [&tree, &self.room.join("apt")] {
            fs::remove_dir_all(folder).map_err(Error::io("remove", folder))?;
        }
        fs::remove_file(deb).map_err(Error::io("remove", deb))?;
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let file = self.room.join(name);
        fs::write(&file, text).map_err(Error::io("write", &file))
    }
}

/// apt's configuration for everything to stay below `dir`. The machine's own is read before it and stays in force
/// (a proxy, say), except for what apt would run or fetch besides.
fn configuration(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        r#"Dir::Etc::SourceList "{dir}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{dir}/state";
Dir::State::status "{dir}/status";
Dir::Cache "{dir}/cache";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::Contents-deb;
"#
    )
}

/// Runs a tool, and gives what it said; if it failed, its own reason.
fn say(command: &mut Command) -> Result<String, Reason> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().map_err(|error| Reason(format!("{name}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let is_error = |line: &&str| line.starts_with("E:") || line.contains(": error:");
    let reason = said.lines().find(is_error).or(said.lines().last()).unwrap_or("it said nothing");
    Err(Reason(format!("{name}: {reason}")))
}

/// The version in a package file's name: `rust-src_VERSION_all.deb`.
fn version_of(deb: &Path) -> Option<&str> {
    deb.file_name()?.to_str()?.split('_').nth(1)
}

/// Whether a package of Debian's `version` holds the source of rustc `release`.
fn version_is_of(version: &str, release: &str) -> bool {
    version.strip_prefix(release).is_some_and(|rest| rest.starts_with('+'))
}

#[cfg(test)]
mod tests;
