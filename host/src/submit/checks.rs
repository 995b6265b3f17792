//! When the errors of kernels are looked for.

use super::{Context, Error, Stream};

/// When the errors of kernels are looked for. A launch that the card refuses is an error of the call in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checks {
    /// Where the program waits: nothing is slowed down, and an error comes out of whichever call waits first.
    #[default]
    WhereTheProgramWaits,
    /// After each launch, by waiting for its stream: an error comes out of the launch that caused it, and nothing of what
    /// one thread submits overlaps.
    AfterEachLaunch,
}

impl Checks {
    /// What a program does that is not about overlap: after each launch in a debug build, and not in a release build.
    pub fn of_this_build() -> Checks {
        if cfg!(debug_assertions) { Checks::AfterEachLaunch } else { Checks::WhereTheProgramWaits }
    }
}

impl Context {
    /// When the errors of kernels are looked for. At first it is [`Checks::WhereTheProgramWaits`].
    pub fn checks(&self) -> Checks {
        self.checks.get()
    }

    /// Says when.
    pub fn set_checks(&self, checks: Checks) {
        self.checks.set(checks);
    }

    /// Waits for a launch, where that was asked for.
    #[track_caller]
    pub(super) fn check_launch(&self, stream: &Stream<'_>) -> Result<(), Error> {
        match self.checks() {
            Checks::WhereTheProgramWaits => Ok(()),
            Checks::AfterEachLaunch => stream.synchronize(),
        }
    }
}
