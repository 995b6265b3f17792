//! The driver's handles, each a type of its own, so that an event cannot be passed where a stream belongs.

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {$(
        $(#[doc = $doc])+
        ///
        /// A name, not an owner: copying it copies nothing, and dropping it destroys nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(*mut c_void);

        // SAFETY: Rust code never follows the pointer, and the driver takes its handles from any thread ("driver
        // entry points are thread safe", CUDA C++ Programming Guide). What a call does with a handle that another
        // thread destroys is that call's contract: each call is an unsafe function.
        unsafe impl Send for $name {}
        // SAFETY: as for Send; there is nothing behind a shared reference but the value of the pointer.
        unsafe impl Sync for $name {}

        impl $name {
            /// The handle that names nothing; for a stream, the default stream.
            pub const NULL: Self = Self(std::ptr::null_mut());

            /// The handle of this value, such as one that `cust` holds (`.cast()` it).
            pub const fn from_raw(raw: *mut c_void) -> Self {
                Self(raw)
            }

            /// The value, to be handed to `cust` (`.cast()` it) or to be shown.
            pub const fn as_raw(self) -> *mut c_void {
                self.0
            }

            /// Whether this is [`NULL`](Self::NULL).
            pub const fn is_null(self) -> bool {
                self.0.is_null()
            }
        }
    )*};
}

handles! {
    /// A context: what a process owns on one device.
    CUcontext;
    /// A loaded module.
    CUmodule;
    /// A kernel of a loaded module.
    CUfunction;
    /// A stream.
    CUstream;
    /// An event.
    CUevent;
    /// A graph, as captured or built.
    CUgraph;
    /// A node of a graph.
    CUgraphNode;
    /// A graph that can be launched.
    CUgraphExec;
}

impl CUstream {
    /// The legacy default stream, which blocking streams wait for and which waits for them. (`CU_STREAM_LEGACY`)
    pub const LEGACY: Self = Self(std::ptr::without_provenance_mut(1));
    /// The calling thread's own default stream. (`CU_STREAM_PER_THREAD`)
    pub const PER_THREAD: Self = Self(std::ptr::without_provenance_mut(2));
}

/// A device, by its ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct CUdevice(pub i32);

/// An address in device memory, in bytes. The host must not follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CUdeviceptr(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_passed_as_the_drivers_pointer() {
        assert_eq!(size_of::<CUstream>(), size_of::<cust::sys::CUstream>());
        assert_eq!(align_of::<CUstream>(), align_of::<cust::sys::CUstream>());
        assert_eq!(size_of::<CUdevice>(), size_of::<cust::sys::CUdevice>());
        assert_eq!(size_of::<CUdeviceptr>(), size_of::<cust::sys::CUdeviceptr>());
    }

    #[test]
    fn the_default_streams_are_the_headers_numbers() {
        assert_eq!(CUstream::NULL.as_raw().addr(), 0);
        assert_eq!(CUstream::LEGACY.as_raw().addr(), 1);
        assert_eq!(CUstream::PER_THREAD.as_raw().addr(), 2);
    }
}
