//! The lessons, in the order in which to take them: the one list that commands, `host list`, the README and the book come from.
//!
//! A lesson is a file here: its place in the order as `PLACE`, its line as `ABOUT`, its options as `Args`, and `run`, which reads
//! like the program that it teaches. The CUDA calls stand written out; context, output and checks are the [`Lab`]'s. A lesson makes
//! no driver call of its own, and does not ask what kind of device it runs on. `BLESS=1 cargo test -p host --test docs` writes both
//! lists below anew from the files.

use clap::{ArgMatches, Args as _, FromArgMatches as _};
use serde::Serialize;
use serde_json::{Value, json};
use streamlab::{Error, LaunchBlocking};

use crate::child::{ChildArgs, Scene};
use crate::lab::{Lab, Outcome};

// The files of this folder.
pub mod bench;
pub mod copies;
pub mod default_stream;
pub mod errors;
pub mod forkjoin;
pub mod graph;
pub mod pdl;
pub mod pipeline;
pub mod pitfalls;
pub mod priority;
pub mod startup;
pub mod streams;
pub mod sync;
pub mod timing;

/// A lesson, as the command line knows it.
#[derive(Clone, Copy)]
pub struct Lesson {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Whether it records a timeline.
    pub draws: bool,
    /// Adds its own options to a command.
    pub options: fn(clap::Command) -> clap::Command,
    /// Runs it with the options that were typed. Clap has read them by the same definition before, so they are there.
    pub run: fn(&mut Lab<'_>, &ArgMatches) -> Result<Outcome, clap::Error>,
}

macro_rules! lessons {
    ($($module:ident as $name:literal;)*) => {
        /// All lessons in order.
        pub const LESSONS: &[Lesson] = &[$(Lesson {
            name: $name,
            about: $module::ABOUT,
            draws: $module::DRAWS,
            options: $module::Args::augment_args,
            run: |lab, matches| Ok($module::run(lab, &$module::Args::from_arg_matches(matches)?)),
        },)*];
    };
}

lessons! {
    forkjoin as "forkjoin";
    streams as "streams";
    pdl as "pdl";
    errors as "errors";
    startup as "startup";
    default_stream as "default-stream";
    priority as "priority";
    timing as "timing";
    sync as "sync";
    copies as "copies";
    pipeline as "pipeline";
    graph as "graph";
    pitfalls as "pitfalls";
}

/// Runs a part of a lesson that needs a process of its own, and returns its document.
///
/// # Errors
///
/// Those that the part is not about.
pub fn child(args: &ChildArgs) -> Result<Value, Error> {
    let options = args.common.options();
    Ok(match args.scene {
        Scene::Fault => json!(errors::fault(options, LaunchBlocking::Off)?),
        Scene::CheckedFault => json!(errors::fault(options, LaunchBlocking::On)?),
        Scene::NullStore => json!(errors::store_to_null(options)?),
        Scene::Startup => json!(startup::first_use(options)?),
    })
}

/// Returns the lesson of this name.
pub fn named(name: &str) -> Option<&'static Lesson> {
    LESSONS.iter().find(|lesson| lesson.name == name)
}

/// Returns a lesson's options as if nothing had been typed.
///
/// # Panics
///
/// When the lesson has an option without a default; the tests ask for each lesson.
pub fn standard<T: clap::Args + Serialize>() -> T {
    T::augment_args(clap::Command::new("standard"))
        .try_get_matches_from(["standard"])
        .and_then(|matches| T::from_arg_matches(&matches))
        .expect("every option of a lesson has a default")
}
