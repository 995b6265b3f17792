//! Finding and opening the driver's library. It may not touch the table: the caller hands `resolve` to `fill`.

use crate::symbols::Symbol;
use std::error::Error;
use std::ffi::{OsStr, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The name by which the driver's library is looked for, in the places where the system's loader looks.
pub const SONAME: &str = "libcuda.so.1";

/// Why there is no driver.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The loader did not find the library, or could not load what it found.
    #[error(
        "no CUDA driver: the loader was asked for {name} and says: {loader}; install NVIDIA's driver, or give the \
         container its GPU, until `nvidia-smi` works"
    )]
    NotLoaded {
        /// What was looked for.
        name: String,
        /// The loader's message.
        loader: String,
    },
    /// A library of that name was loaded, and it has no `cuInit`.
    #[error(
        "no CUDA driver: {name} was loaded and has no `cuInit`; take that file out of the loader's way (see \
         LD_LIBRARY_PATH), so that NVIDIA's own is found"
    )]
    NotADriver {
        /// What was loaded.
        name: String,
    },
}

/// What the loader itself said: libloading's own message holds only the name of the function that failed.
fn innermost(mut error: &dyn Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// An opened driver library. It stays open until the process ends, also when this value is dropped: the table may
/// hold its functions.
#[derive(Debug)]
pub struct Library(ManuallyDrop<libloading::Library>);

impl Library {
    /// Opens the driver of this machine.
    ///
    /// # Errors
    ///
    /// [`LibraryError`] when there is none. A machine without a driver is a normal case, and nothing was changed.
    pub fn open() -> Result<Self, LibraryError> {
        // SAFETY: the file of this name is, on a system in order, NVIDIA's; loading it and using it from every
        // thread is what it is made for.
        unsafe { Self::open_as(SONAME) }
    }

    /// Opens the library of another name or path.
    ///
    /// # Errors
    ///
    /// [`LibraryError`] when there is none, or when it is no driver.
    ///
    /// # Safety
    ///
    /// The library may be loaded at this time by this thread, which runs its initialization, and its functions of
    /// the list's names are what [`fill`](crate::fill) asks for.
    pub unsafe fn open_as(name: impl AsRef<OsStr>) -> Result<Self, LibraryError> {
        let name = name.as_ref();
        let shown = || name.to_string_lossy().into_owned();
        // SAFETY: the caller vouches for the library's initialization.
        let library = unsafe { libloading::Library::new(name) }
            .map_err(|error| LibraryError::NotLoaded { name: shown(), loader: innermost(&error) })?;
        let library = Library(ManuallyDrop::new(library));
        match library.resolve(Symbol::cuInit) {
            Some(_) => Ok(library),
            None => Err(LibraryError::NotADriver { name: shown() }),
        }
    }

    /// The address of a function, or nothing when this driver is too old to have it. Made for
    /// [`fill`](crate::fill).
    pub fn resolve(&self, symbol: Symbol) -> Option<NonNull<c_void>> {
        // SAFETY: only the address is taken; the type that the function has in truth is the caller's to know.
        let address = unsafe { self.0.get::<*mut c_void>(symbol.name()) }.ok()?;
        NonNull::new(*address)
    }
}
