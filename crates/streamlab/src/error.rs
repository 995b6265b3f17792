//! What can go wrong between the host and a device, each on one line: what happened, where, and what to do. It makes no
//! driver call but to ask for a code's name and text.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

use cuda_driver::{CuResult, MissingSymbol};

use crate::floor::{self, Failed, is_sticky};
use crate::in_flight;

/// A failure of this library or of the driver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine has no driver, or it cannot be opened.
    #[error(transparent)]
    NoDriver(#[from] cuda_driver::LibraryError),
    /// The driver lacks a function that a call needs.
    #[error("{what}: {missing} ({at})")]
    Missing {
        /// What was being done.
        what: String,
        /// The function, and the driver that brought it.
        missing: MissingSymbol,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// A driver call failed.
    #[error(transparent)]
    Driver(Box<DriverError>),
    /// Another context is open, on another driver: a process has one at a time.
    #[error(
        "open {asked}: a context on {open} is open, and a process uses one driver at a time; finish that context first"
    )]
    DriverInUse {
        /// The device that was asked for.
        asked: String,
        /// The device of the open context.
        open: String,
    },
    /// An argument belongs to another context.
    #[error("{what}: `{name}` belongs to another context ({at}); make it in the context that uses it")]
    OtherContext {
        /// What was being done.
        what: String,
        /// The stream, event, buffer or graph.
        name: String,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// A launch writes memory that another of its arguments also names.
    #[error(
        "launch `{kernel}`: `{written}`, which it writes, overlaps `{other}` ({at}); pass memory that does not overlap, or \
         make the kernel an `unsafe fn` that allows it"
    )]
    Overlap {
        /// The kernel.
        kernel: &'static str,
        /// The parameter that is written.
        written: &'static str,
        /// The other parameter.
        other: &'static str,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// A captured launch uses memory that its graph cannot keep.
    #[error(
        "capture a launch of `{kernel}`: `{parameter}` is memory of another library, which a graph cannot keep alive ({at}); \
         use a `DeviceBuffer` of this library"
    )]
    ForeignInCapture {
        /// The kernel, or what else was captured.
        kernel: String,
        /// The parameter.
        parameter: &'static str,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// The system gave no second host thread.
    #[error("start a second host thread: {0}; end other programs, or raise this user's limit of threads")]
    NoThread(std::io::Error),
    /// The driver works, but there is no device.
    #[error(
        "the driver finds no CUDA device: is one visible to this process? look at `nvidia-smi` and CUDA_VISIBLE_DEVICES"
    )]
    NoDevice,
    /// A device number past the last.
    #[error("there is no device {asked}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        asked: u32,
        /// Devices on this machine.
        count: u32,
    },
    /// The program has no PTX for a device this old.
    #[error("{device} has compute capability {}.{}: the kernels need {}.{} or newer; choose another device", capability.0, capability.1, needs.0, needs.1)]
    DeviceTooOld {
        /// The device's name.
        device: String,
        /// Its compute capability, major and minor.
        capability: (u32, u32),
        /// The least that the kernels need.
        needs: (u32, u32),
    },
    /// A kernel that needs slices of one length was given others.
    #[error("launch `{kernel}`: its buffers are of different lengths ({at}); pass slices of the same length")]
    UnequalLengths {
        /// The kernel.
        kernel: &'static str,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// The device lacks a feature.
    #[error("{feature} needs compute capability {}.{} or newer: {device} has {}.{}; choose another device", needs.0, needs.1, capability.0, capability.1)]
    Unsupported {
        /// What it lacks.
        feature: &'static str,
        /// The compute capability that has it, major and minor.
        needs: (u32, u32),
        /// The device's name.
        device: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The driver is older than this program's PTX.
    #[error("the driver knows CUDA {}.{} and refuses PTX {}.{}: update the driver", driver.0, driver.1, ptx.0, ptx.1)]
    PtxTooNew {
        /// The `.version` of the oldest PTX that was tried.
        ptx: (u32, u32),
        /// The CUDA version that the driver knows, major and minor.
        driver: (u32, u32),
    },
    /// The device has too little memory.
    #[error(
        "{what} needs {needed_bytes} bytes of device memory and {free_bytes} are free: ask for fewer elements"
    )]
    OutOfMemory {
        /// What was being allocated.
        what: String,
        /// Bytes asked for.
        needed_bytes: u64,
        /// Bytes free on the device.
        free_bytes: u64,
    },
    /// A buffer without a byte.
    #[error("allocate `{name}`: it has no bytes ({at}); a buffer has at least one element")]
    NoBytes {
        /// The buffer.
        name: String,
        /// The caller.
        at: &'static Location<'static>,
    },
    /// An environment variable has a value that means nothing.
    #[error("the variable {variable} is `{value}`: {known}")]
    Variable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The values that it may have.
        known: String,
    },
    /// A file cannot be written.
    #[error("write `{path}`: {error}; choose a file in a folder that you may write to")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
}

impl Error {
    /// Whether the fault is in what was asked for or in the machine, and not in what a program did on the device.
    pub fn is_bad_input(&self) -> bool {
        !matches!(self, Error::Driver(_))
    }

    /// Returns the driver's number, where a call failed.
    pub fn code(&self) -> Option<u32> {
        match self {
            Error::Driver(error) => Some(error.code),
            Error::OutOfMemory { .. } => Some(CuResult::OUT_OF_MEMORY.code()),
            _ => None,
        }
    }

    /// Returns the driver's name for the code, where a call failed.
    pub fn code_name(&self) -> Option<&str> {
        match self {
            Error::Driver(error) => Some(&error.name),
            _ => None,
        }
    }

    /// Adds what the caller knows beyond the driver's code, where nothing was added yet.
    pub(crate) fn or_detail(mut self, detail: impl FnOnce(CuResult) -> String) -> Self {
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
    /// The driver's number, also where no list has it.
    pub code: u32,
    /// The driver's name for it.
    pub name: String,
    /// The driver's text for it.
    pub text: String,
    /// The caller.
    pub at: &'static Location<'static>,
    /// What is known beyond the code: which of its causes it was, or a compiler's log. Empty when nothing is.
    pub detail: String,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DriverError { what, call, code, name, text, at, detail } = self;
        write!(f, "{what}: {call} failed with {name} ({code}, {text}) at {}:{}", at.file(), at.line())?;
        if !detail.is_empty() {
            write!(f, "; {}", detail.trim_end().replace('\n', " | "))?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

/// Turns what the floor returned into an error that says what was being done, and who called.
pub(crate) trait Doing<T> {
    /// Says what was being done.
    #[track_caller]
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;

    /// Says what was asked; `CUDA_ERROR_NOT_READY` is no failure then. Returns whether the work is complete.
    #[track_caller]
    fn asking(self, what: impl FnOnce() -> String) -> Result<bool, Error>;
}

impl<T> Doing<T> for floor::Result<T> {
    #[track_caller]
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        match self {
            Ok(value) => Ok(value),
            Err(failed) => Err(failure(failed, what(), Location::caller())),
        }
    }

    #[track_caller]
    fn asking(self, what: impl FnOnce() -> String) -> Result<bool, Error> {
        match self {
            Err(Failed { code: CuResult::NOT_READY, .. }) => Ok(false),
            answer => answer.doing(what).map(|_| true),
        }
    }
}

/// Returns the error for a call that failed.
#[cold]
pub(crate) fn failure(failed: Failed, what: String, at: &'static Location<'static>) -> Error {
    let Failed { call, code } = failed;
    if let Some(missing) = (code == CuResult::STUB_LIBRARY).then(cuda_driver::take_missing).flatten() {
        return Error::Missing { what, missing, at };
    }
    let (name, text) = floor::error_words(code);
    let name = name.unwrap_or_else(|| "an error without a name".into());
    let mut detail = vec![floor::virtual_detail(code)];
    if is_sticky(code.code()) {
        detail.push(in_flight::words());
    }
    detail.retain(|part| !part.is_empty());
    let detail = detail.join("; ");
    LastError::note(code.code(), &name, at);
    let text = text.unwrap_or_else(|| "no text".into());
    // The driver's manual knows the function by its name without a version.
    let call = call.trim_end_matches("_v2");
    Error::Driver(Box::new(DriverError { what, call, code: code.code(), name, text, at, detail }))
}

/// The last call of this thread that failed, as CUDA's runtime API keeps it (`cudaGetLastError`). The driver API has none: each
/// call returns its own code. Here it is kept beside the codes, for a program that looks late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    /// The driver's number.
    pub code: u32,
    /// The driver's name for it.
    pub name: String,
    /// The caller.
    pub at: &'static Location<'static>,
}

thread_local! {
    static LAST: RefCell<Option<LastError>> = const { RefCell::new(None) };
}

impl LastError {
    /// Returns the last error of this thread and keeps it (`cudaPeekAtLastError`). Successful calls leave it alone.
    pub fn peek() -> Option<LastError> {
        LAST.with_borrow(Clone::clone)
    }

    /// Returns the last error of this thread and clears it (`cudaGetLastError`). A sticky one stays until the context ends.
    pub fn take() -> Option<LastError> {
        LAST.with_borrow_mut(|last| {
            if last.as_ref().is_some_and(LastError::is_sticky) { last.clone() } else { last.take() }
        })
    }

    /// Whether the context is lost with it: every later call returns the same code.
    pub fn is_sticky(&self) -> bool {
        is_sticky(self.code)
    }

    /// Keeps an error, unless a sticky one is there: the first message of a lost context leads to the cause.
    pub(crate) fn note(code: u32, name: &str, at: &'static Location<'static>) {
        let noted = LastError { code, name: name.to_owned(), at };
        LAST.with_borrow_mut(|last| match last {
            Some(first) if first.is_sticky() => {}
            _ => *last = Some(noted),
        });
    }

    /// Clears it, as the end of the context does with a sticky one.
    pub(crate) fn forget() {
        LAST.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(code: u32) -> LastError {
        LastError::note(code, "NAME", Location::caller());
        LastError::peek().expect("an error was noted")
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
        let other = std::thread::spawn(LastError::peek).join().expect("the thread ends");
        assert_eq!(other, None);
        assert_eq!(LastError::take().map(|last| last.code), Some(2));
    }
}
