//! The documentation as a test: every link leads somewhere, every page is in the book, and every command that is quoted is one.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use host::args::{self, Cli};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every page that a reader may open, with its path from the root.
fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = vec![PathBuf::from("README.md"), PathBuf::from("ARCHITECTURE.md")];
    let mut folders = vec![PathBuf::from("docs"), PathBuf::from("exercises")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).into_iter().flatten() {
            let path = folder.join(entry.unwrap().file_name());
            match path.extension() {
                Some(extension) if extension == "md" => pages.push(path),
                None => folders.push(path),
                Some(_) => {}
            }
        }
    }
    pages.into_iter().map(|page| (page.clone(), fs::read_to_string(root().join(page)).unwrap())).collect()
}

/// What a page links to: the part in parentheses of `[..](..)`, outside code.
fn links(text: &str) -> Vec<String> {
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code
    });
    let prose = prose.collect::<Vec<_>>().join("\n");
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    links.map(|(link, _)| link.to_owned()).collect()
}

/// The commands of this program that a page quotes, without the program's name.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.lines().filter_map(|line| line.strip_prefix("$ "));
    let inline = text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("cargo run "));
    let command = |line: &str| line.split_once(" -p host -- ").map(|(_, command)| command.trim().to_owned());
    quoted.chain(inline).filter(|line| line.starts_with("cargo run ")).filter_map(command).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    for (page, text) in pages() {
        for link in links(&text).iter().filter(|link| !link.starts_with("https://")) {
            let path = link.split('#').next().unwrap();
            let target = root().join(page.parent().unwrap()).join(path);
            assert!(path.is_empty() || target.exists(), "{}: there is no {link}", page.display());
        }
    }
}

#[test]
fn every_page_of_the_book_is_in_its_summary_and_every_lesson_has_a_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<_> = links(&summary).into_iter().map(|link| Path::new("docs").join(link)).collect();
    let pages = pages().into_iter().map(|(page, _)| page);
    let book: BTreeSet<_> =
        pages.filter(|page| page.starts_with("docs") && !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(book, listed);
    for (lesson, _) in args::lessons() {
        assert!(book.contains(Path::new(&format!("docs/lessons/{lesson}.md"))), "{lesson} has no page");
    }
}

#[test]
fn every_command_that_is_quoted_is_one_and_every_lesson_is_quoted() {
    let mut quoted = BTreeSet::new();
    for (page, text) in pages() {
        for command in commands(&text).iter().filter(|command| !command.contains("LESSON")) {
            let words = ["host"].into_iter().chain(command.split_whitespace());
            if let Err(refusal) = Cli::try_parse_from(words) {
                panic!("{}: `{command}`: {refusal}", page.display());
            }
            quoted.insert(command.split(' ').next().unwrap().to_owned());
        }
    }
    for (lesson, _) in args::lessons() {
        assert!(quoted.contains(&lesson), "no page says how to run {lesson}");
    }
}
