//! What a function that is not in the driver answers, and the sentence that says so. It may not touch the table.

use crate::result::CuResult;
use crate::symbols::Symbol;
use crate::table;
use std::cell::Cell;

/// A driver function that was called and is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingSymbol {
    /// The table was filled, and what filled it has no such function.
    #[error("{0} is not in this driver: it came with CUDA {since}; update the driver", since = .0.since())]
    NotInDriver(Symbol),
    /// The table was not filled when the call was made.
    #[error("{0} was called too early: no driver was chosen yet; call `cuda_driver::fill` first")]
    NotFilled(Symbol),
}

impl MissingSymbol {
    /// The function that was called. Its [`since`](Symbol::since) says which CUDA release brought it.
    pub const fn symbol(self) -> Symbol {
        match self {
            MissingSymbol::NotInDriver(symbol) | MissingSymbol::NotFilled(symbol) => symbol,
        }
    }
}

thread_local! {
    static LAST: Cell<Option<MissingSymbol>> = const { Cell::new(None) };
}

/// The missing function that this thread called last, and forgets it.
///
/// To be asked right after a call that answered [`CuResult::STUB_LIBRARY`]. A driver proper never answers that code,
/// so `None` then means that the library which was opened is a toolkit's stub.
pub fn take_missing() -> Option<MissingSymbol> {
    LAST.take()
}

/// What the table holds for symbol number `INDEX` while there is no function for it.
///
/// It takes no arguments, yet is called with those of the driver function. That is sound where the jumps exist: on
/// both architectures the caller puts the arguments in place and takes them away again, and a callee may leave
/// any of them unread.
///
/// The code is one that `cust_raw`'s enum of results has too: a number outside that enum would be undefined behaviour
/// in `cust`.
pub(crate) extern "C" fn absent<const INDEX: usize>() -> CuResult {
    let symbol = const { Symbol::ALL[INDEX] };
    LAST.set(Some(match table::is_filled() {
        true => MissingSymbol::NotInDriver(symbol),
        false => MissingSymbol::NotFilled(symbol),
    }));
    CuResult::STUB_LIBRARY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_the_function_and_what_to_do() {
        assert_eq!(
            MissingSymbol::NotInDriver(Symbol::cuLaunchKernelEx).to_string(),
            "cuLaunchKernelEx is not in this driver: it came with CUDA 11.8; update the driver"
        );
        assert_eq!(
            MissingSymbol::NotFilled(Symbol::cuInit).to_string(),
            "cuInit was called too early: no driver was chosen yet; call `cuda_driver::fill` first"
        );
        assert_eq!(MissingSymbol::NotFilled(Symbol::cuInit).symbol(), Symbol::cuInit);
    }
}
