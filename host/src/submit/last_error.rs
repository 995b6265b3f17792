//! The last error of a thread, as CUDA's runtime API keeps it. The driver API, which this layer is made of, has none: each
//! call answers for itself, and what nobody looked at is gone. Here it is kept beside the answers, for a program that looks
//! late.

use std::cell::RefCell;
use std::panic::Location;

/// The last call of this thread that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The driver's number.
    pub code: u32,
    /// The driver's name for it.
    pub name: String,
    /// Who made the call.
    pub at: &'static Location<'static>,
}

thread_local! {
    static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) };
}

impl LastError {
    /// The last error of this thread, which stays where it is (`cudaPeekAtLastError`). A call that succeeds does not take
    /// it away.
    pub fn peek() -> Option<LastError> {
        LAST.with_borrow(Clone::clone)
    }

    /// The same, and from then on there is none (`cudaGetLastError`), unless it is a sticky one: that stays until the
    /// context is ended.
    pub fn take() -> Option<LastError> {
        LAST.with_borrow_mut(|last| {
            if last.as_ref().is_some_and(LastError::is_sticky) { last.clone() } else { last.take() }
        })
    }

    /// Whether the context is lost with it: every later call answers the same.
    pub fn is_sticky(&self) -> bool {
        is_sticky(self.code)
    }

    pub(super) fn note(code: u32, name: &str, at: &'static Location<'static>) {
        let noted = LastError { code, name: name.to_owned(), at };
        LAST.with_borrow_mut(|last| match last {
            // The first message of a lost context is the one that leads to the cause.
            Some(first) if first.is_sticky() => {}
            _ => *last = Some(noted),
        });
    }

    /// With the context goes its sticky error.
    pub(super) fn forget() {
        LAST.set(None);
    }
}

/// Whether a code is of a kernel's own failure, after which the context cannot be used: those of which the driver's manual
/// says that they leave the process in an inconsistent state (700 illegal address, 702 timeout, 710 assertion, 714 to 719
/// what the hardware refuses, 721 tensor memory).
pub(super) fn is_sticky(code: u32) -> bool {
    matches!(code, 700 | 702 | 710 | 714..=719 | 721)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(code: u32) -> LastError {
        LastError::note(code, "NAME", Location::caller());
        LastError::peek().unwrap()
    }

    #[test]
    fn peek_leaves_it_and_take_takes_it() {
        LastError::forget();
        assert_eq!((LastError::peek(), LastError::take()), (None, None));
        assert_eq!((note(1).code, note(400).code), (1, 400));
        let last = LastError::peek();
        assert_eq!((LastError::peek(), LastError::take(), LastError::take()), (last.clone(), last, None));
    }

    #[test]
    fn a_sticky_one_is_not_taken_away_and_no_later_one_hides_it() {
        LastError::forget();
        let first = note(700);
        assert_eq!(note(719), first);
        assert_eq!((LastError::take(), LastError::take()), (Some(first.clone()), Some(first)));
        LastError::forget();
        assert_eq!(LastError::peek(), None);
    }

    #[test]
    fn each_thread_has_its_own() {
        note(2);
        let other = std::thread::spawn(LastError::peek).join().unwrap();
        assert_eq!(other, None);
        assert_eq!(LastError::take().map(|last| last.code), Some(2));
    }
}
