//! What a function that this driver does not have answers.

use cuda_driver::{CuResult, Symbol};
use std::cell::Cell;

thread_local! {
    static LAST: Cell<Option<Symbol>> = const { Cell::new(None) };
}

/// The unsupported function that this thread called last, and forgets it. To be asked right after a call that answered
/// `NOT_SUPPORTED`.
pub fn take_unsupported() -> Option<Symbol> {
    LAST.take()
}

/// Stands for the function of symbol number `INDEX`. It takes no arguments, yet is called with those of the driver's
/// function: where the jumps of `cuda_driver` exist, a callee may leave any argument unread.
pub(super) extern "C" fn answer<const INDEX: usize>() -> CuResult {
    LAST.set(Some(const { Symbol::ALL[INDEX] }));
    CuResult::NOT_SUPPORTED
}
