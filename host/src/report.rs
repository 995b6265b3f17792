//! What a person or a program gets to read. The one module that prints.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use timeline::model::Timeline;
use timeline::terminal;

/// Columns of a drawing.
const COLUMNS: usize = 80;

/// Where text and documents go: with `--json` the document has standard output to itself.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    json: bool,
    quiet: bool,
    is_virtual: bool,
}

impl Report {
    /// For a command with or without `--json`.
    pub fn new(json: bool) -> Self {
        Report { json, quiet: false, is_virtual: false }
    }

    /// Returns this for a device whose time is virtual: every time says so.
    pub fn virtual_time(self, is_virtual: bool) -> Self {
        Report { is_virtual, ..self }
    }

    /// Whether times are a virtual device's.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// Draws what ran when, for a terminal of 80 columns.
    pub fn picture(&self, timeline: &Timeline) {
        let terminal = if self.json { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
        if !timeline.bands.is_empty() {
            self.say(terminal::draw(timeline, COLUMNS, terminal).trim_end());
        }
    }

    /// Prints what was timed.
    pub fn time(&self, name: &str, times: impl std::fmt::Display) {
        let label = if self.is_virtual { " of virtual time" } else { "" };
        self.say(format!("{name} {times}{label}"));
    }

    /// Returns this without lines for people.
    pub fn quiet(self) -> Self {
        Report { quiet: true, ..self }
    }

    /// Returns this with lines for people.
    pub fn loud(self) -> Self {
        Report { quiet: false, ..self }
    }

    /// Prints a line for people. A reader that has gone away is not an error.
    pub fn say(&self, line: impl std::fmt::Display) {
        if self.quiet {
            return;
        }
        _ = if self.json { writeln!(io::stderr(), "{line}") } else { writeln!(io::stdout(), "{line}") };
    }

    /// Prints a document, where one was asked for.
    ///
    /// # Errors
    ///
    /// When it cannot be written; a reader that has gone away is not an error.
    pub fn document(&self, document: &impl Serialize) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(document).map_err(io::Error::other)?;
        match writeln!(io::stdout(), "{text}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            answer => answer,
        }
    }

    /// Runs `work`, with a sign of life on a terminal and nothing in a pipe.
    pub fn busy<T>(&self, message: &'static str, work: impl FnOnce() -> T) -> T {
        let bar = if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        bar.enable_steady_tick(Duration::from_millis(100));
        let outcome = work();
        bar.finish_and_clear();
        outcome
    }
}

/// Prints the one line of an error on standard error.
pub fn error(message: impl std::fmt::Display) {
    _ = writeln!(io::stderr(), "error: {message}");
}
