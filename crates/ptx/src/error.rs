//! Why a text is refused, with the line.

/// A text that cannot be run, refused when it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: PTX line {line}, `{text}`; {advice}")]
pub struct Error {
    /// What is wrong.
    pub what: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What stands there, cut to a readable length.
    pub text: String,
    /// What to do about it.
    pub advice: &'static str,
    /// What kind of refusal it is: the driver has a number for each.
    pub reason: Reason,
}

/// The kinds of refusal that a driver tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is no PTX at all: the driver's 200, invalid image.
    NotPtx,
    /// It is PTX that is wrong, or more than is implemented: the driver's 218, invalid PTX.
    Invalid,
    /// A newer PTX than is known: the driver's 222, unsupported PTX version.
    Version,
}

impl Error {
    /// Makes a refusal of what stands at a line of the text. Whoever executes a module refuses with it, too, what the
    /// reader accepts and they cannot run.
    pub fn new(what: impl Into<String>, line: u32, text: &str) -> Self {
        let text: String = text.chars().take(100).map(|c| if c.is_control() { ' ' } else { c }).collect();
        Self {
            what: what.into(),
            line,
            text: text.trim().to_owned(),
            advice: "correct the PTX, or compile the kernel again",
            reason: Reason::Invalid,
        }
    }

    /// Returns it with other advice.
    pub(crate) fn advise(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }

    /// Returns it with another reason.
    pub(crate) fn because(self, reason: Reason) -> Self {
        Self { reason, ..self }
    }
}
