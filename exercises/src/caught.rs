//! A panic in a learner's program, as a value: where it was, and what it said. Nothing is printed.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// A panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// File and line.
    pub place: String,
    /// Its message.
    pub message: String,
}

thread_local! {
    /// Whether this thread's panics are caught, and the last of them.
    static CAUGHT: RefCell<Option<Option<Panic>>> = const { RefCell::new(None) };
}

/// Runs `work`, and returns the panic that ended it. Panics of other threads are printed as ever.
///
/// # Errors
///
/// The panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_caught = CAUGHT.with_borrow_mut(|caught| {
                caught.as_mut().map(|last| *last = Some(Panic::of(info))).is_some()
            });
            if !is_caught {
                usual(info);
            }
        }));
    });
    CAUGHT.set(Some(None));
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    let last = CAUGHT.take().flatten();
    outcome.map_err(|_| last.unwrap_or_else(|| Panic { place: "?".to_owned(), message: String::new() }))
}

impl Panic {
    fn of(info: &PanicHookInfo<'_>) -> Panic {
        let place =
            info.location().map_or_else(|| "?".to_owned(), |at| format!("{}:{}", at.file(), at.line()));
        Panic { place, message: info.payload_as_str().unwrap_or_default().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_returned_with_its_place_and_message() {
        assert_eq!(caught(|| 3), Ok(3));
        let line = line!() + 1;
        let panic = caught(|| [1, 2][std::hint::black_box(2)]).unwrap_err();
        assert_eq!(panic.place, format!("{}:{line}", file!()));
        assert!(panic.message.contains("the len is 2"), "{panic:?}");
        assert_eq!(caught(|| panic::panic_any(7)).unwrap_err().message, "");
    }
}
