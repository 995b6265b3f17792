//! A card for one test at a time: the driver's table belongs to the process.

#![allow(dead_code, reason = "each test binary uses its part of it")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use host::args::Common;
use host::kernels::IMAGES;
use host::submit::{Context, open_driver};

static CARD: Mutex<()> = Mutex::new(());

/// Waits until no other test has the table; for a test that fills it by itself.
pub fn alone() -> MutexGuard<'static, ()> {
    CARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test with the card that the options name. Every release has to succeed.
pub fn on_card<T>(common: &Common, test: impl FnOnce(&Context) -> T) -> T {
    let _alone = alone();
    let opened = open_driver(common).unwrap();
    let context = Context::open(opened.ordinal, IMAGES).unwrap();
    context.set_overlaps(opened.overlaps);
    let outcome = test(&context);
    let released = context.finish();
    assert!(released.is_empty(), "{released:?}");
    outcome
}
