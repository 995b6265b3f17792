//! The documentation as a test: every link leads somewhere, every page is in the book, every command that is quoted is one, and what
//! comes from the list of lessons is as the list has it. `BLESS=1` writes the list and what comes from it anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use host::lessons::LESSONS;
use host::session::command_line;

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

/// Compares what a file has between two lines with what it should have; with `BLESS=1` writes it.
#[track_caller]
fn compare(file: &str, from: &str, to: &str, want: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock();
    let path = root().join(file);
    let text = fs::read_to_string(&path).unwrap();
    let start = text.find(from).unwrap_or_else(|| panic!("{file} has no `{from}`")) + from.len();
    let end = start + text[start..].find(to).unwrap_or_else(|| panic!("{file} has no `{to}` after `{from}`"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, format!("{}{want}{}", &text[..start], &text[end..])).unwrap();
    } else {
        assert_eq!(&text[start..end], want, "{file}: run `BLESS=1 cargo test -p host --test docs`");
    }
}

#[test]
fn the_list_has_every_lesson_file_in_the_order_of_their_places() {
    let mut lessons = Vec::new();
    for entry in fs::read_dir(root().join("host/src/lessons")).unwrap() {
        let path = entry.unwrap().path();
        let text = if path.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        if let Some((_, rest)) = text.split_once("pub const PLACE: u32 = ") {
            let place: u32 = rest.split(';').next().unwrap().parse().unwrap();
            lessons.push((place, path.file_stem().unwrap().to_string_lossy().into_owned()));
        }
    }
    lessons.sort();
    assert!(lessons.windows(2).all(|pair| pair[0].0 < pair[1].0), "two lessons have one place: {lessons:?}");
    let line = |(_, name): &(u32, String)| format!("    {name} as \"{}\";\n", name.replace('_', "-"));
    let list: String = lessons.iter().map(line).collect();
    compare("host/src/lessons/mod.rs", "\nlessons! {\n", "}", &list);
    let names = lessons.iter().map(|(_, name)| name.as_str()).chain(["bench"]).collect::<BTreeSet<_>>();
    let modules: String = names.iter().map(|name| format!("pub mod {name};\n")).collect();
    compare("host/src/lessons/mod.rs", "// The files of this folder.\n", "\n/// A lesson, as", &modules);
}

#[test]
fn the_readmes_table_and_the_books_summary_are_those_of_the_list() {
    let row = |lesson: &host::lessons::Lesson| {
        format!("| [`{0}`](docs/lessons/{0}.md) | {1} |\n", lesson.name, lesson.about)
    };
    let rows: String = LESSONS.iter().map(row).collect();
    compare("README.md", "| lesson | what it shows |\n|---|---|\n", "| [`exercise", &rows);
    let page = |lesson: &host::lessons::Lesson| format!("- [{0}](lessons/{0}.md)\n", lesson.name);
    let pages: String = LESSONS.iter().map(page).collect();
    compare("docs/SUMMARY.md", "# The lessons\n\n", "- [Exercises]", &pages);
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
fn every_page_of_the_book_is_in_its_summary_and_every_lesson_has_a_page_and_a_place_in_the_map() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<_> = links(&summary).into_iter().map(|link| Path::new("docs").join(link)).collect();
    let pages = pages().into_iter().map(|(page, _)| page);
    let book: BTreeSet<_> =
        pages.filter(|page| page.starts_with("docs") && !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(book, listed);
    for lesson in LESSONS {
        assert!(
            book.contains(Path::new(&format!("docs/lessons/{}.md", lesson.name))),
            "{} has no page",
            lesson.name
        );
    }
    // The map leads from the courses' sections to lessons, and to no page that is none.
    let map = links(&fs::read_to_string(root().join("docs/map.md")).unwrap());
    assert!(map.iter().all(|link| listed.contains(&Path::new("docs").join(link))));
}

#[test]
fn every_command_that_is_quoted_is_one_and_every_lesson_is_quoted() {
    let mut quoted = BTreeSet::new();
    for (page, text) in pages() {
        for command in commands(&text).iter().filter(|command| !command.contains("LESSON")) {
            let words = ["host"].into_iter().chain(command.split_whitespace());
            if let Err(refusal) = command_line().try_get_matches_from(words) {
                panic!("{}: `{command}`: {refusal}", page.display());
            }
            quoted.insert(command.split(' ').next().unwrap().to_owned());
        }
    }
    for lesson in LESSONS {
        assert!(quoted.contains(lesson.name), "no page says how to run {}", lesson.name);
    }
}

#[test]
fn the_report_that_the_readme_quotes_names_the_lines_of_the_broken_order() {
    let source = fs::read_to_string(root().join("host/src/lessons/forkjoin.rs")).unwrap();
    let lines: Vec<_> = source.lines().collect();
    let broken = lines.iter().position(|line| line.contains("pub fn broken(&self)")).unwrap();
    let at = |words: &str| {
        let line = 1 + broken + lines[broken..].iter().position(|line| line.contains(words)).unwrap();
        format!("host/src/lessons/forkjoin.rs:{line}")
    };
    let (launch, branch) = (at("s[0].launch(self.grind"), at("s[1 + j].launch"));
    let (record, wait) = (at(".record(fork)"), at(".wait(fork)"));
    let want = format!(
        "  (1) {launch}: kernel `grind_fma` on `s0` writes them\n  (2) {branch}: kernel `grind_fma` on `s1` reads them\n  \
         cause: `fork` was recorded on `s0` ({record}) before (1) was submitted, so the wait of `s1` ({wait}) does not cover (1)\n"
    );
    compare("README.md", "bytes 0..4194304 of `mid`\n", "  repair:", &want);
}

/// Whether a line makes a CUDA call, or touches what one does.
fn has_call(line: &str) -> bool {
    let calls = [
        ".launch",
        ".record(",
        ".wait(",
        "copy",
        "memset",
        "synchronize",
        ".read(",
        ".write(",
        "elapsed",
        "query",
    ];
    calls.iter().any(|call| line.contains(call))
}

#[test]
fn every_line_that_a_quoted_report_names_has_a_call() {
    for (page, text) in pages() {
        for (at, _) in text.match_indices("host/src/lessons/") {
            let rest = &text[at..];
            let Some((file, rest)) = rest.split_once(".rs:") else { continue };
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            if file.contains(char::is_whitespace) || digits.is_empty() {
                continue;
            }
            let source = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap();
            let line = source.lines().nth(digits.parse::<usize>().unwrap() - 1).unwrap_or_default();
            assert!(has_call(line), "{}: {file}.rs:{digits} makes no call: {line:?}", page.display());
        }
    }
}
