//! What can go wrong between the host and a card, each on one line: what happened, where, and what to do.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::panic::Location;
use std::ptr;

use cuda_driver::{CuResult, MissingSymbol};

use super::driver::virtual_detail;
use super::last_error::{LastError, is_sticky};
use super::pending;

/// A failure of the submission layer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no driver on this machine, or it cannot be opened.
    #[error(transparent)]
    NoDriver(#[from] cuda_driver::LibraryError),
    /// The driver lacks a function that this call needs.
    #[error("{what}: {missing} ({at})")]
    Missing {
        /// What was being done.
        what: String,
        /// The function, and the driver that brought it.
        missing: MissingSymbol,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// The driver answered with an error.
    #[error(transparent)]
    Driver(Box<DriverError>),
    /// The system gives no second host thread.
    #[error("start a second host thread: {0}; end other programs, or raise this user's limit of threads")]
    NoThread(std::io::Error),
    /// The driver works, but no card is there.
    #[error(
        "the driver finds no CUDA device: is one visible to this process? look at `nvidia-smi` and CUDA_VISIBLE_DEVICES"
    )]
    NoDevice,
    /// A device number past the last.
    #[error(
        "there is no device {asked}: this machine has {count}, numbered from 0; choose one with `--device`"
    )]
    NoSuchDevice {
        /// The number asked for.
        asked: u32,
        /// Devices on this machine.
        count: u32,
    },
    /// No PTX of this program is for a card this old.
    #[error("{card} has compute capability {}.{}: the kernels need {}.{} or newer; choose another card with `--device`", capability.0, capability.1, needs.0, needs.1)]
    CardTooOld {
        /// The card's name.
        card: String,
        /// Its compute capability, major and minor.
        capability: (u32, u32),
        /// The least that the kernels need.
        needs: (u32, u32),
    },
    /// A graph uses memory that is no more.
    #[error("launch a graph: `{memory}`, which it uses, was released ({at}); keep it as long as the graph")]
    Released {
        /// The memory.
        memory: String,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// A kernel that needs slices of one length was given others.
    #[error("launch `{kernel}`: its buffers are of different lengths ({at}); pass views of the same length")]
    UnequalLengths {
        /// The kernel.
        kernel: &'static str,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// The card lacks something that a lesson is about.
    #[error("{feature} needs compute capability {}.{} or newer: {card} has {}.{}; choose another card with `--device`", needs.0, needs.1, capability.0, capability.1)]
    Unsupported {
        /// What it lacks.
        feature: &'static str,
        /// The compute capability that has it, major and minor.
        needs: (u32, u32),
        /// The card's name.
        card: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The driver reads no PTX as new as this program's.
    #[error("the driver speaks CUDA {}.{} and refuses PTX {}.{}: update the driver", driver.0, driver.1, ptx.0, ptx.1)]
    PtxTooNew {
        /// The `.version` of the oldest PTX that was tried.
        ptx: (u32, u32),
        /// The CUDA version that the driver speaks, major and minor.
        driver: (u32, u32),
    },
    /// Device memory does not suffice for what was asked.
    #[error(
        "{what} needs {needed_bytes} bytes of device memory and {free_bytes} are free: ask for fewer elements"
    )]
    OutOfMemory {
        /// What was being allocated.
        what: String,
        /// Bytes asked for.
        needed_bytes: u64,
        /// Bytes free on the card.
        free_bytes: u64,
    },
}

impl Error {
    /// True when the fault is in what was asked for or in the machine, not in what a lesson found.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Error::Driver(_))
    }

    /// The driver's number, where a call failed.
    pub fn code(&self) -> Option<u32> {
        match self {
            Error::Driver(error) => Some(error.code),
            Error::OutOfMemory { .. } => Some(CuResult::OUT_OF_MEMORY.code()),
            _ => None,
        }
    }

    /// What the caller knows beyond the driver's code, where nobody has said more yet.
    pub(super) fn or_detail(mut self, detail: impl FnOnce(CuResult) -> String) -> Self {
        if let Error::Driver(error) = &mut self
            && error.detail.is_empty()
        {
            error.detail = detail(CuResult::from_code(error.code));
        }
        self
    }
}

/// A driver call that failed: everything the driver says, and who called.
#[derive(Debug)]
pub struct DriverError {
    /// What was being done, in words: "launch `grind_fma` on `s0`".
    pub what: String,
    /// The driver API function.
    pub call: &'static str,
    /// The driver's number; a code that no list has keeps it too.
    pub code: u32,
    /// The driver's name for it.
    pub name: String,
    /// The driver's text for it.
    pub text: String,
    /// The caller.
    pub at: &'static Location<'static>,
    /// What the caller knows beyond the code: which of its causes it was, or a compiler's log. Empty when nothing.
    pub detail: String,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DriverError { what, call, code, name, text, at, detail } = self;
        write!(f, "{what}: {call} answered {name} ({code}, {text}) at {}:{}", at.file(), at.line())?;
        if !detail.is_empty() {
            write!(f, "; {}", detail.trim_end().replace('\n', " | "))?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

/// Turns a call's answer into a result that names the caller.
#[track_caller]
pub(super) fn check(
    call: &'static str,
    answer: CuResult,
    what: impl FnOnce() -> String,
) -> Result<(), Error> {
    if answer == CuResult::SUCCESS { Ok(()) } else { Err(failure(call, answer, what(), Location::caller())) }
}

/// The same for a query, whose `CUDA_ERROR_NOT_READY` is no failure: whether the work is complete.
#[track_caller]
pub(super) fn check_query(
    call: &'static str,
    answer: CuResult,
    what: impl FnOnce() -> String,
) -> Result<bool, Error> {
    match answer {
        CuResult::NOT_READY => Ok(false),
        answer => check(call, answer, what).map(|()| true),
    }
}

/// The error for a call that failed.
#[cold]
pub(super) fn failure(
    call: &'static str,
    answer: CuResult,
    what: String,
    at: &'static Location<'static>,
) -> Error {
    if let Some(missing) = (answer == CuResult::STUB_LIBRARY).then(cuda_driver::take_missing).flatten() {
        return Error::Missing { what, missing, at };
    }
    let name = ask(answer, cuda_driver::cuGetErrorName).unwrap_or_else(|| "an error without a name".into());
    let mut detail = vec![virtual_detail(answer.code())];
    if is_sticky(answer.code()) {
        detail.push(pending::words());
    }
    detail.retain(|part| !part.is_empty());
    let detail = detail.join("; ");
    LastError::note(answer.code(), &name, at);
    let text = ask(answer, cuda_driver::cuGetErrorString).unwrap_or_else(|| "no text".into());
    Error::Driver(Box::new(DriverError { what, call, code: answer.code(), name, text, at, detail }))
}

/// The same for a call made by `cust`, which keeps only the codes that it knows.
#[track_caller]
pub(super) fn check_cust<T>(
    call: &'static str,
    answer: cust::error::CudaResult<T>,
    what: impl FnOnce() -> String,
) -> Result<T, Error> {
    answer.map_err(|code| failure(call, CuResult::from_code(code as u32), what(), Location::caller()))
}

fn ask(
    code: CuResult,
    call: unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult,
) -> Option<String> {
    let mut text = ptr::null();
    // SAFETY: the driver writes a pointer to a static string, or null for a code that it does not know.
    let answer = unsafe { call(code, &mut text) };
    if answer != CuResult::SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: not null, and the driver's strings are static and end in NUL.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}
