//! What `child` takes. A lesson starts it, in a process of its own, for what its own process would not survive or can do
//! only once; its output is one document for the lesson to read.

use clap::{Args, ValueEnum};

use super::Common;

/// What `child` takes.
#[derive(Clone, Debug, Args)]
pub struct Child {
    /// What happens in it
    #[arg(value_enum)]
    pub scene: Scene,
    /// What every lesson takes.
    #[command(flatten)]
    pub common: Common,
}

/// What happens in a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scene {
    /// A kernel writes out of bounds, and the program goes on
    Fault,
    /// The same, with a check after each launch
    CheckedFault,
    /// A kernel writes to address 0, and the program ends with what it is told
    NullStore,
    /// A card is opened, and every step is timed
    Startup,
}

impl Child {
    /// The words that start this scene on the card of `common`.
    pub fn words(scene: Scene, common: &Common) -> Vec<String> {
        let mut words =
            vec!["child".to_owned(), value(scene), "--device".to_owned(), common.device.to_string()];
        words.extend(["--schedule".to_owned(), value(common.schedule)]);
        words.extend(
            common.threads.into_iter().flat_map(|threads| ["--threads".to_owned(), threads.to_string()]),
        );
        words
    }
}

/// What a person would type.
fn value(typed: impl ValueEnum) -> String {
    typed.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn a_child_understands_the_words_that_it_is_started_with() {
        for typed in [
            "--device virtual:t4 --schedule late --threads 3",
            "--device virtual:h200",
            "--device gpu:2",
            "--device auto",
        ] {
            let words = ["host", "child", "fault"].into_iter().chain(typed.split(' '));
            let Command::Child(lesson) = Cli::try_parse_from(words).unwrap().command else {
                panic!("{typed}")
            };
            for scene in Scene::value_variants() {
                let words = ["host".to_owned()].into_iter().chain(Child::words(*scene, &lesson.common));
                let Command::Child(child) = Cli::try_parse_from(words).unwrap().command else {
                    panic!("{typed}")
                };
                assert_eq!(child.scene, *scene);
                let of = |common: &Common| (common.device, common.schedule, common.threads);
                assert_eq!(of(&child.common), of(&lesson.common));
            }
        }
    }
}
