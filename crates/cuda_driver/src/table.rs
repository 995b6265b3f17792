//! The table that every driver call jumps through, and its filling. It knows addresses, not whose they are.

use crate::calls::cuInit;
#[cfg(target_arch = "aarch64")]
use crate::jump_aarch64::jump;
#[cfg(target_arch = "x86_64")]
use crate::jump_x86_64::jump;
use crate::missing::absent;
use crate::result::CuResult;
use crate::symbols::{Symbol, for_each_symbol};
use std::arch::global_asm;
use std::ffi::{c_uint, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

const COUNT: usize = Symbol::ALL.len();

macro_rules! define_table {
    ($(($name:ident, $major:literal, $minor:literal))*) => {
        /// What answers in the place of each function that is not there.
        static ABSENT: [extern "C" fn() -> CuResult; COUNT] = [$(absent::<{ Symbol::$name as usize }>),*];

        /// One address for each symbol. The jumps read it as an array of pointers, which is the layout that
        /// `AtomicPtr` promises. No slot is ever null: it starts with, and falls back to, the symbol's `absent`.
        static TABLE: [AtomicPtr<c_void>; COUNT] =
            [$(AtomicPtr::new(absent::<{ Symbol::$name as usize }> as *mut c_void)),*];

        $(jump!($name, TABLE, size_of::<AtomicPtr<c_void>>() * Symbol::$name as usize);)*
    };
}
for_each_symbol!(define_table);

/// Makes every program that links this crate take in the object that holds the jumps. A linker takes an object out
/// of a library only for a symbol that is already wanted, and `cust`, which wants these, may come later.
#[used]
static KEEPS_THE_JUMPS: unsafe extern "C" fn(c_uint) -> CuResult = cuInit;

/// Which slots hold a function that was handed over.
static AVAILABLE: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
static FILLED: AtomicBool = AtomicBool::new(false);
static FILLING: Mutex<()> = Mutex::new(());

/// Fills the table: asks `resolve` for each function of the list, once.
///
/// A function that `resolve` does not have is an error only for who calls it: the call answers
/// [`CuResult::STUB_LIBRARY`], and [`take_missing`](crate::take_missing) says which function that was.
///
/// The table may be filled again; every slot is then replaced. A call that is under way stays in the function that it
/// jumped to, so that function must live on. A call that starts on another thread meanwhile goes to the old
/// or to the new function. Handles of one driver mean nothing to another, so a program fills once, before its
/// first driver call; filling again is for tests.
///
/// # Safety
///
/// Each address is a function with the C signature and the behaviour that NVIDIA documents for the driver function of
/// that name, and it stays callable, from every thread, until the process ends.
pub unsafe fn fill(resolve: impl FnMut(Symbol) -> Option<NonNull<c_void>>) {
    // All questions come first: should `resolve` panic or fill the table itself, the table is still whole.
    let found: Vec<_> = Symbol::ALL.iter().copied().map(resolve).collect();
    let _one_at_a_time = FILLING.lock().unwrap_or_else(PoisonError::into_inner);
    for (slot, address) in found.into_iter().enumerate() {
        let function = address.map_or(ABSENT[slot] as *mut c_void, NonNull::as_ptr);
        TABLE[slot].store(function, Ordering::Release);
        AVAILABLE[slot].store(address.is_some(), Ordering::Release);
    }
    FILLED.store(true, Ordering::Release);
}

/// Whether the driver that the table was last filled from has this function. Before the first filling: no.
pub fn is_available(symbol: Symbol) -> bool {
    AVAILABLE[symbol as usize].load(Ordering::Acquire)
}

/// Whether the table was ever filled.
pub(crate) fn is_filled() -> bool {
    FILLED.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    //! One test, because the table belongs to the whole process: no other unit test may fill it.

    use super::*;
    use crate::missing::{MissingSymbol, take_missing};

    /// A stand-in driver's function for symbol number `INDEX`: it answers a number of its own.
    extern "C" fn stand_in<const INDEX: usize>() -> CuResult {
        CuResult::from_code(1000 + INDEX as u32)
    }

    macro_rules! define_calls {
        ($(($name:ident, $major:literal, $minor:literal))*) => {
            const STAND_INS: [extern "C" fn() -> CuResult; COUNT] =
                [$(stand_in::<{ Symbol::$name as usize }>),*];

            /// Calls the function through its jump, as C code that got the arguments wrong would: with none.
            fn call(symbol: Symbol) -> CuResult {
                #[allow(clashing_extern_declarations, reason = "only the symbol matters here")]
                mod jumps {
                    unsafe extern "C" {
                        $(pub fn $name() -> crate::CuResult;)*
                    }
                }
                match symbol {
                    // SAFETY: in this test, behind each jump is a function without parameters.
                    $(Symbol::$name => unsafe { jumps::$name() },)*
                }
            }
        };
    }
    for_each_symbol!(define_calls);

    #[test]
    fn every_symbol_jumps_to_its_own_slot_and_is_missed_by_its_own_name() {
        let stand_in_for = |symbol: Symbol| NonNull::new(STAND_INS[symbol as usize] as *mut c_void);
        let answers_its_own_number = |symbol: Symbol| {
            assert!(is_available(symbol), "{symbol}");
            assert_eq!(call(symbol).code(), 1000 + symbol as u32, "{symbol}");
            assert_eq!(take_missing(), None, "{symbol}");
        };
        let is_missing = |symbol: Symbol, why: MissingSymbol| {
            assert!(!is_available(symbol), "{symbol}");
            assert_eq!(call(symbol), CuResult::STUB_LIBRARY, "{symbol}");
            assert_eq!(take_missing(), Some(why));
            assert_eq!(take_missing(), None, "{symbol} was to be forgotten");
        };

        for &symbol in Symbol::ALL {
            is_missing(symbol, MissingSymbol::NotFilled(symbol));
        }

        // SAFETY: the stand-ins take no parameters, and `call` passes none.
        unsafe { fill(stand_in_for) };
        for &symbol in Symbol::ALL {
            answers_its_own_number(symbol);
        }

        for &missing in Symbol::ALL {
            // SAFETY: the stand-ins take no parameters, and `call` passes none.
            unsafe { fill(|symbol| stand_in_for(symbol).filter(|_| symbol != missing)) };
            is_missing(missing, MissingSymbol::NotInDriver(missing));
            for &symbol in Symbol::ALL.iter().filter(|&&symbol| symbol != missing) {
                answers_its_own_number(symbol);
            }
        }
    }
}
