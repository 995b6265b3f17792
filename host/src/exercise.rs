//! The exercises by name, and `host exercise`. Each is a small program of the crate `exercises`, which a learner completes; that crate
//! checks it. Here cargo builds it, so that what is checked is the file as it is now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use streamlab::{Device, Schedule};

use crate::child;
use crate::cli::{Common, Order, Repeat, TimelineFile};
use crate::report::{self, Report};

/// How often a watched file is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// An exercise.
#[derive(Debug)]
pub struct Exercise {
    /// What it is asked for by.
    pub name: &'static str,
    /// What is to be done, in a sentence.
    pub task: &'static str,
    /// Each says a little more than the one before.
    pub hints: &'static [&'static str],
    /// The text of a file that passes.
    pub solution: &'static str,
}

/// All exercises, in the order in which to take them.
pub const EXERCISES: &[Exercise] = &[
    Exercise {
        name: "fork2",
        task: "run the four branches of the diamond on two streams, two on each, and the sum after all four",
        hints: &[
            "The result does not depend on the number of streams. Count the `grind_fma` kernels that have to run one after the other, \
             from the first kernel to the sum: with a stream for each branch, and with two streams.",
            "Two kernels in one stream are ordered by the stream. So `left` and `right` each need one wait before their first branch \
             and one record after their second. Three events are enough: `fork`, recorded on `main` after the first kernel, \
             `left_done` and `right_done`.",
            "The order of the calls: launch the first kernel on `main`, `main.record(&fork)`; `left.wait(&fork)`, two branches on \
             `left`, `left.record(&left_done)`; `right.wait(&fork)`, two branches on `right`, `right.record(&right_done)`; \
             `main.wait(&left_done)`, `main.wait(&right_done)`, launch the sum on `main`.",
        ],
        solution: include_str!("../../exercises/solutions/fork2.rs"),
    },
    Exercise {
        name: "streams",
        task: "let the first two kernels overlap, and run the third after both",
        hints: &[
            "The legacy default stream is a barrier among blocking streams: its work waits for theirs, and theirs for it. Look at the \
             kind of each stream.",
            "Nothing orders two streams of `StreamKind::NonBlocking`, so the first two kernels overlap. The third kernel could then \
             start before one of them has ended: one event, recorded on one stream and waited for on the other, prevents that.",
            "The order of the calls: the first kernel on `a`, `a.record(&done)`, the second kernel on `b`, `b.wait(&done)`, the third \
             kernel on `b`.",
        ],
        solution: include_str!("../../exercises/solutions/streams.rs"),
    },
    Exercise {
        name: "pdl",
        task: "let the third kernel start before the second has ended, with the right result",
        hints: &[
            "Programmatic dependent launch needs three things: a trigger in the primary kernel, a wait in the secondary kernel, and an \
             attribute on the launch of the secondary. gpu/src/pdl.rs shows which kernels have which: look for `pdl::trigger()` and \
             `pdl::wait()`.",
            "`combine_stage` has the wait. `produce_stage_never` has no trigger, and `produce_stage_early` has one. The attribute \
             belongs on the launch of the kernel that starts early: on the launch of a kernel without a wait it removes an order \
             and puts none in its place.",
            "Launch `produce_stage_early(&x, &mid, &aux)` in place of `produce_stage_never`, and `combine_stage` with \
             `launch.programmatic()` in place of `launch`.",
        ],
        solution: include_str!("../../exercises/solutions/pdl.rs"),
    },
    Exercise {
        name: "pipeline",
        task: "let the copies and kernels of the chunks overlap on two streams",
        hints: &[
            "Within a chunk the three steps need each other, and one stream keeps them in order. Two chunks need no order, unless they \
             use the same device buffers: chunks 0 and 2 share `arrived[0]` and `computed[0]`, chunks 1 and 3 share `arrived[1]` and \
             `computed[1]`.",
            "Don't overwrite a buffer until the chunk that used it has been copied out. Work on one stream is ordered, so using the \
             same stream for both chunks needs no event.",
            "Create a second stream `odd` beside `even`. Inside the loop, `let stream = [&even, &odd][chunk % 2];` puts all three steps \
             of chunks 0 and 2 on `even`, and those of chunks 1 and 3 on `odd`.",
        ],
        solution: include_str!("../../exercises/solutions/pipeline.rs"),
    },
];

/// Returns the exercise of this name.
pub fn named(name: &str) -> Option<&'static Exercise> {
    EXERCISES.iter().find(|exercise| exercise.name == name)
}

impl Exercise {
    /// Returns the file that the learner edits, from the root.
    pub fn file(&self) -> String {
        format!("exercises/{}.rs", self.name)
    }
}

/// Exercises: programs to complete, checked step by step
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List the exercises and their tasks
    List,
    /// Build your file, exercises/NAME.rs, and check it
    Check(Check),
    /// Check your file now, and again each time it is saved, until Ctrl-C
    Watch(Check),
    /// Print a hint
    Hint {
        /// The exercise
        #[arg(value_name = "NAME", value_parser = parser())]
        exercise: &'static Exercise,
        /// Which hint, from 1
        #[arg(default_value_t = 1)]
        number: usize,
    },
    /// Print a file that passes
    Solution {
        /// The exercise
        #[arg(value_name = "NAME", value_parser = parser())]
        exercise: &'static Exercise,
    },
}

/// What is checked, and how.
#[derive(Clone, Debug, Args)]
pub struct Check {
    /// The exercise
    #[arg(value_name = "NAME", value_parser = parser())]
    pub exercise: &'static Exercise,
    /// What the exercise's program takes.
    #[command(flatten)]
    pub options: Options,
}

/// Reads the name of an exercise.
fn parser() -> impl TypedValueParser<Value = &'static Exercise> {
    let names = EXERCISES.iter().map(|exercise| exercise.name);
    PossibleValuesParser::new(names).try_map(|name| named(&name).ok_or("there is no such exercise"))
}

/// What the program of an exercise takes: the options of a lesson, but for the missing-edge check, which an exercise is about.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Device: `auto` (a GPU when there is one, else the virtual H200), `gpu` or `gpu:N`, `virtual:h200`, `virtual:t4`
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Device,
    /// Virtual device schedule: `earliest` (as hardware does) or `late` (the latest start that the order allows)
    #[arg(long, value_name = "WHEN", default_value = "earliest")]
    pub schedule: Schedule,
    /// CPU threads that a virtual device computes with [default: one for each processor]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON document on standard output, and the text on standard error
    #[arg(long)]
    pub json: bool,
    /// Write the timeline to a file: a picture (.svg), a page (.html), or a trace for Perfetto (.json)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<TimelineFile>,
    /// How often something is timed.
    #[command(flatten)]
    pub repeat: Repeat,
}

impl Options {
    /// Returns these options as a lesson has them. A missing edge fails the exercise.
    pub fn common(self) -> Common {
        let Options { device, schedule, threads, json, timeline, repeat } = self;
        Common { device, order: Order::Deny, schedule, threads, json, timeline, repeat }
    }

    /// Returns the words that mean these options, for a program in another folder.
    fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--device={}", self.device), format!("--schedule={}", self.schedule)];
        let mut number = |name: &str, value: Option<u32>| {
            words.extend(value.map(|value| format!("--{name}={value}")));
        };
        number("threads", self.threads.map(u32::from));
        number("runs", self.repeat.runs);
        number("warmups", self.repeat.warmups);
        if self.json {
            words.push("--json".to_owned());
        }
        if let Some(TimelineFile { path, .. }) = &self.timeline {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            words.push(format!("--timeline={}", path.display()));
        }
        words
    }
}

/// Runs `host exercise`.
pub fn run(action: &Action) -> ExitCode {
    let report = Report::new(false);
    match action {
        Action::List => {
            for exercise in EXERCISES {
                report.say(format!("{:9} {}: {}", exercise.name, exercise.file(), exercise.task));
            }
            ExitCode::SUCCESS
        }
        Action::Hint { exercise, number } => {
            let count = exercise.hints.len();
            match number.checked_sub(1).and_then(|number| exercise.hints.get(number)) {
                Some(hint) => report.say(format!("hint {number} of {count}: {hint}")),
                None => {
                    report::error(format!("{} has {count} hints, numbered from 1", exercise.name));
                    return ExitCode::from(2);
                }
            }
            ExitCode::SUCCESS
        }
        Action::Solution { exercise } => {
            report.say(exercise.solution.trim_end());
            ExitCode::SUCCESS
        }
        Action::Check(Check { exercise, options }) => ExitCode::from(check(exercise, options)),
        Action::Watch(Check { exercise, options }) => watch(exercise, options),
    }
}

/// The folder of the workspace that this program was built in.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Lets cargo build the exercise's program and run it, and returns its exit code.
fn check(exercise: &Exercise, options: &Options) -> u8 {
    let (root, file) = (root(), exercise.file());
    if !root.join(&file).is_file() {
        report::error(format!("there is no {file} in {}, where this program was built", root.display()));
        return 2;
    }
    let words = ["run", "--quiet", "--package", "exercises", "--bin", exercise.name, "--"];
    let words: Vec<String> = words.into_iter().map(str::to_owned).chain(options.words()).collect();
    match child::cargo(&root, &words) {
        Ok(Some(code @ 0..=2)) => code as u8,
        // The program itself ends with no other code.
        Ok(Some(_)) => {
            report::error(format!("{file} was not checked: cargo could not build it, for the reasons above"));
            1
        }
        Ok(None) => {
            report::error(format!("{file} was not checked: a signal ended cargo, or the program"));
            1
        }
        Err(error) => {
            report::error(error);
            2
        }
    }
}

/// Checks the exercise again and again: whenever its file is not the one that was checked last.
fn watch(exercise: &Exercise, options: &Options) -> ExitCode {
    let path = root().join(exercise.file());
    let saved = || fs::metadata(&path).and_then(|file| file.modified()).ok();
    loop {
        // Taken before the check: what is saved meanwhile is checked next.
        let checked = saved();
        if check(exercise, options) == 2 {
            return ExitCode::from(2);
        }
        Report::new(options.json)
            .say(format!("\nwatching {}: save it to check it again, Ctrl-C to end", exercise.file()));
        while !is_newer(saved(), checked) {
            thread::sleep(WATCH_INTERVAL);
        }
    }
}

/// Whether a file was saved since; one that is just being replaced is not there, and has not been.
fn is_newer(saved: Option<SystemTime>, checked: Option<SystemTime>) -> bool {
    saved.is_some() && saved != checked
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    fn options(typed: &[String]) -> Options {
        let command = Options::augment_args(Command::new("check").no_binary_name(true));
        Options::from_arg_matches(&command.get_matches_from(typed)).unwrap()
    }

    #[test]
    fn the_words_of_options_mean_the_options() {
        for typed in [
            "",
            "--device virtual:t4 --schedule late --threads 3 --json",
            "--device gpu:1 --runs 4 --warmups 0 --timeline /a/b.svg",
        ] {
            let typed: Vec<_> = typed.split_whitespace().map(str::to_owned).collect();
            let [asked, passed] = [options(&typed), options(&options(&typed).words())];
            assert_eq!(format!("{asked:?}"), format!("{passed:?}"));
        }
        let relative = options(&["--timeline=a.svg".to_owned()]).words();
        assert!(options(&relative).timeline.unwrap().path.is_absolute());
    }

    #[test]
    fn a_file_is_checked_again_once_it_is_there_with_another_time() {
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert!(is_newer(at(2), at(1)) && is_newer(at(1), at(2)) && is_newer(at(1), None));
        assert!(!is_newer(at(1), at(1)) && !is_newer(None, at(1)));
    }

    #[test]
    fn every_exercise_is_found_by_its_name_and_has_hints() {
        for exercise in EXERCISES {
            assert_eq!(named(exercise.name).unwrap().name, exercise.name);
            assert!(!exercise.hints.is_empty() && exercise.solution.contains("fn program("));
        }
    }
}
