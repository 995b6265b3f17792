//! `host new DIR`: a small project of one's own that depends on the lab. Its files are those of `examples/own_program`, which is
//! built and run as it stands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What `new` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Folder of the project: a new one, or one that is empty
    pub dir: PathBuf,
    /// Depend on the lab by this git address instead of by its path
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,
}

/// Why there is no project.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The folder has something in it.
    #[error("`{}` is not empty: choose a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// The folder's name makes no name of a package.
    #[error("`{0}` is no name for a package: letters, digits, `-` and `_`, and first a letter")]
    Name(String),
    /// The lab that the project would depend on is not where this program was built.
    #[error("the lab is not at `{}` any more: give its address with --git URL", .0.display())]
    NoLab(PathBuf),
    /// A file could not be written; what had been written is gone again.
    #[error("write `{}`: {error}; choose a folder that you may write to", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The files, and whether they name the package or the lab.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../../examples/own_program/Cargo.toml")),
    ("README.md", include_str!("../../examples/own_program/README.md")),
    ("build.rs", include_str!("../../examples/own_program/build.rs")),
    ("rust-toolchain.toml", include_str!("../../examples/own_program/rust-toolchain.toml")),
    (".gitignore", include_str!("../../examples/own_program/.gitignore")),
    (".cargo/config.toml", include_str!("../../examples/own_program/.cargo/config.toml")),
    ("link/lib64/libcuda.so", include_str!("../../examples/own_program/link/lib64/libcuda.so")),
    ("kernels/Cargo.toml", include_str!("../../examples/own_program/kernels/Cargo.toml")),
    ("kernels/src/lib.rs", include_str!("../../examples/own_program/kernels/src/lib.rs")),
    ("src/main.rs", include_str!("../../examples/own_program/src/main.rs")),
];

/// The package's name in those files.
const NAME: &str = "own_program";

/// Writes the project, and returns what to type next.
///
/// # Errors
///
/// [`Refusal`]; nothing half written stays behind.
pub fn project(args: &Args) -> Result<String, Refusal> {
    let dir = std::path::absolute(&args.dir).unwrap_or_else(|_| args.dir.clone());
    let folder = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = package_name(&folder)?;
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let lab = match &args.git {
        Some(_) => lab,
        None => lab.canonicalize().map_err(|_| Refusal::NoLab(lab))?,
    };
    let is_new = !dir.exists();
    let is_empty = is_new || fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty {
        return Err(Refusal::NotEmpty(args.dir.clone()));
    }
    let written = FILES.iter().try_for_each(|(file, text)| {
        let path = dir.join(file);
        let text = text_of(text, &name, &lab, args.git.as_deref());
        let folder = path.parent().unwrap_or(&dir);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| Refusal::Write { path: path.clone(), error })
    });
    if let Err(refusal) = written {
        remove(&dir, is_new);
        return Err(refusal);
    }
    let place = args.dir.display();
    Ok(format!(
        "wrote `{place}`: two kernels on two streams, with one ordering edge missing. Next:\n  cd '{place}'\n  cargo run"
    ))
}

/// Takes away what was written into a folder that had been empty.
fn remove(dir: &Path, is_new: bool) {
    for (file, _) in FILES {
        _ = fs::remove_file(dir.join(file));
    }
    for folder in ["link/lib64", "link", "kernels/src", "kernels", "src", ".cargo"] {
        _ = fs::remove_dir(dir.join(folder));
    }
    if is_new {
        _ = fs::remove_dir(dir);
    }
}

/// Returns a file's text for a package of this name that depends on the lab by path or by git.
fn text_of(text: &str, name: &str, lab: &Path, git: Option<&str>) -> String {
    let mut lines = Vec::new();
    for line in text.replace(NAME, name).lines() {
        let Some((before, after)) = line.split_once("{ path = \"../") else {
            lines.push(line.to_owned());
            continue;
        };
        let (path, rest) = after.split_once('"').unwrap_or((after, ""));
        let inside = path.trim_start_matches("../");
        let dependency = match git {
            Some(url) => format!("git = {}", quoted(url)),
            None => format!("path = {}", quoted(&lab.join(inside).to_string_lossy())),
        };
        lines.push(format!("{before}{{ {dependency}{rest}"));
    }
    lines.join("\n") + "\n"
}

/// A TOML string.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the name of the package for a folder: spaces and dots become `-`.
fn package_name(folder: &str) -> Result<String, Refusal> {
    let name: String = folder.chars().map(|c| if " .".contains(c) { '-' } else { c }).collect();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_reserved =
        ["kernels", "streamlab", "cuda_std", "cuda_builder", "test", "core", "std"].contains(&name.as_str());
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(fits) && !is_reserved {
        Ok(name)
    } else {
        Err(Refusal::Name(folder.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_its_package_where_it_can() {
        assert_eq!(package_name("my program").ok().as_deref(), Some("my-program"));
        for refused in ["", "1st", "kernels", "größe", "a/b", "-x"] {
            assert!(matches!(package_name(refused), Err(Refusal::Name(_))), "{refused}");
        }
    }

    #[test]
    fn a_dependency_is_by_path_or_by_git_and_nothing_else_changes() {
        let line = "streamlab = { path = \"../../crates/streamlab\" }\n# a comment\n";
        let by_path = text_of(line, "x", Path::new("/a \"b\""), None);
        assert_eq!(by_path, "streamlab = { path = \"/a \\\"b\\\"/crates/streamlab\" }\n# a comment\n");
        let by_git = text_of(line, "x", Path::new("/lab"), Some("https://host/lab"));
        assert_eq!(by_git, "streamlab = { git = \"https://host/lab\" }\n# a comment\n");
        assert_eq!(text_of("name = \"own_program\"\n", "mine", Path::new("/"), None), "name = \"mine\"\n");
    }
}
