//! The fetch, against an apt-get and a dpkg-deb that are shell scripts: what they are asked, and what is made of their
//! answers.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;
use crate::cache::CACHE_VAR;

/// Scripts that behave as the tools do when all is well; `$LOG` gets what apt is given.
const APT_GET: &str = r#"
[ "$1" = indextargets ] && { printf 'http://one/debian/\nhttp://one/debian/\nhttp://two/debian/\n'; exit 0; }
room=$(dirname "$(dirname "$2")")
cat "$room/apt/sources.list" >> "$LOG"
case "$*" in
*update) ;;
*download*) echo "$4" >> "$LOG"; echo deb > "rust-src_${VERSION}_all.deb" ;;
esac
"#;
const DPKG_DEB: &str = r#"
mkdir -p "$3/usr/src/rustc-${VERSION%%+*}/library/core"
"#;
const SHA256SUM: &str = r#"
echo "7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b  $1"
"#;

/// A machine of Debian's kind, whose mirror has one version of the package.
struct Debian {
    dir: TempDir,
    version: &'static str,
}

impl Debian {
    fn new(version: &'static str) -> Self {
        let debian = Self { dir: tempfile::tempdir().unwrap(), version };
        debian.script("apt-get", APT_GET);
        debian.script("dpkg-deb", DPKG_DEB);
        debian.script("sha256sum", SHA256SUM);
        debian
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let file = self.at("bin").join(name);
        fs::create_dir_all(self.at("bin")).unwrap();
        fs::write(&file, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.at("bin").join(name)).unwrap();
    }

    /// Fetches, with a space in the cache's path as anywhere.
    fn fetch(&self, release: &str) -> Result<Package, String> {
        let log = self.at("log");
        let cache = self.at("the cache");
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let machine = Machine::made_up(
            self.dir.path(),
            &[
                ("PATH", OsStr::new(&path)),
                ("LOG", log.as_os_str()),
                ("VERSION", OsStr::new(self.version)),
                (CACHE_VAR, cache.as_os_str()),
            ],
        );
        let cache = Cache::open(&machine, None).unwrap();
        fetch(&machine, release, &cache).map_err(|Reason(reason)| reason)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.at("log")).unwrap_or_default()
    }
}

#[test]
fn the_package_of_the_compilers_version_comes_from_the_machines_mirror() {
    let debian = Debian::new(PINNED_VERSION);
    let package = debian.fetch("1.95.0").unwrap();
    assert_eq!(package.version, PINNED_VERSION);
    assert!(package.library.join("core").is_dir());
    let source = "deb http://one/debian/ trixie-backports main\n";
    assert_eq!(debian.log(), format!("{source}{source}rust-src=1.95.0*\n"));
}

#[test]
fn only_the_source_is_kept_and_the_next_build_asks_nobody() {
    let debian = Debian::new(PINNED_VERSION);
    let package = debian.fetch("1.95.0").unwrap();
    let kept = fs::read_dir(package.library.parent().unwrap()).unwrap();
    let mut kept = kept.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    kept.sort();
    assert_eq!(kept, ["library", "version"]);
    let log = debian.log();
    debian.remove("apt-get");
    assert_eq!(debian.fetch("1.95.0").unwrap().version, PINNED_VERSION);
    assert_eq!(debian.log(), log);
}

#[test]
fn the_archives_key_is_named_where_the_machine_has_it() {
    let debian = Debian::new(PINNED_VERSION);
    let keyring = debian.at("usr/share/keyrings/debian-archive-keyring.gpg");
    fs::create_dir_all(keyring.parent().unwrap()).unwrap();
    fs::write(&keyring, "").unwrap();
    debian.fetch("1.95.0").unwrap();
    assert!(
        debian.log().starts_with(&format!("deb [signed-by={}] http://one", keyring.display())),
        "{}",
        debian.log()
    );
}

/// apt-get on a machine that does not have the suite's key.
const UNSIGNED: &str = r#"
case "$*" in *update) grep -q trusted=yes "$(dirname "$2")/sources.list" || {
    echo "W: GPG error: NO_PUBKEY 6ED0E7B82643E131" >&2
    echo "E: The repository 'http://one/debian trixie-backports InRelease' is not signed." >&2
    exit 100
} ;; esac
"#;

#[test]
fn without_the_key_the_pinned_checksum_stands_in() {
    let debian = Debian::new(PINNED_VERSION);
    debian.script("apt-get", &format!("{UNSIGNED}{APT_GET}"));
    debian.fetch("1.95.0").unwrap();
    assert!(debian.log().contains(&format!("rust-src={PINNED_VERSION}\n")), "{}", debian.log());
}

#[test]
fn without_the_key_nothing_but_the_pinned_package_is_taken() {
    // Of a compiler without a pin; another package of the pinned compiler's version; the right name on another file.
    for (version, release, reason) in [
        ("1.96.0+dfsg1-1~bpo13+1", "1.96.0", "is not signed"),
        ("1.95.0+dfsg1-3~bpo13+1", "1.95.0", "another version"),
        (PINNED_VERSION, "1.95.0", "has sha256 0000, expected 7b76"),
    ] {
        let debian = Debian::new(version);
        debian.script("apt-get", &format!("{UNSIGNED}{APT_GET}"));
        debian.script("sha256sum", "echo 0000 $1");
        let refused = debian.fetch(release).err().unwrap();
        assert!(refused.contains(reason), "{refused}");
        assert!(!debian.at("the cache").join(format!("debian-rust-src-{release}")).exists());
    }
}

#[test]
fn a_signed_package_is_held_to_its_pin_and_a_newer_one_to_the_signature() {
    let debian = Debian::new(PINNED_VERSION);
    debian.script("sha256sum", "echo 0000 $1");
    assert!(debian.fetch("1.95.0").err().unwrap().contains("has sha256 0000"));
    for (version, release) in [("1.95.0+dfsg1-3~bpo13+1", "1.95.0"), ("1.96.0+dfsg1-1~bpo13+1", "1.96.0")] {
        let debian = Debian::new(version);
        debian.script("sha256sum", "exit 1");
        assert_eq!(debian.fetch(release).unwrap().version, version);
    }
}

#[test]
fn the_next_mirror_is_asked_when_one_does_not_have_the_suite() {
    let debian = Debian::new(PINNED_VERSION);
    let first_fails = r#"
case "$*" in *update) grep -q two "$(dirname "$2")/sources.list" || { echo "E: 404" >&2; exit 100; } ;; esac
"#;
    debian.script("apt-get", &format!("{first_fails}\n{APT_GET}"));
    debian.fetch("1.95.0").unwrap();
    assert!(debian.log().contains("http://two/debian/ trixie-backports"), "{}", debian.log());
}

#[test]
fn what_is_missing_or_refused_is_said() {
    for tool in ["apt-get", "dpkg-deb", "sha256sum"] {
        let debian = Debian::new(PINNED_VERSION);
        debian.script(tool, "echo 'warning: this and that' >&2; echo 'E: out of order' >&2; exit 100");
        let reason = debian.fetch("1.95.0").err().unwrap();
        assert!(reason.contains(tool) && reason.contains("E: out of order"), "{reason}");
    }
    let debian = Debian::new(PINNED_VERSION);
    debian.script("apt-get", "exit 0");
    assert_eq!(debian.fetch("1.95.0").err().unwrap(), "apt names no mirror");
}

#[test]
fn apt_keeps_to_the_folder_and_runs_no_hook_of_the_machine() {
    let text = configuration(Path::new("/room/apt"));
    for line in [
        "Dir::Etc::SourceList \"/room/apt/sources.list\";",
        "Dir::Etc::SourceParts \"/dev/null\";",
        "Dir::State \"/room/apt/state\";",
        "Dir::State::status \"/room/apt/status\";",
        "Dir::Cache \"/room/apt/cache\";",
        "#clear APT::Update::Post-Invoke;",
        "#clear APT::Update::Post-Invoke-Success;",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}
