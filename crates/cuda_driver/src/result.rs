//! The code that every driver call answers. It keeps numbers that this crate has never heard of.

use std::fmt;

/// What a driver call answered.
///
/// Not the header's `CUresult`, which is an enum: a driver newer than this crate may answer a number that no list
/// has. Name and text of a code come from the driver: [`cuGetErrorName`](crate::cuGetErrorName) and
/// [`cuGetErrorString`](crate::cuGetErrorString).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a driver call tells by its code alone that it failed"]
#[repr(transparent)]
pub struct CuResult(u32);

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal;)*) => {
        impl CuResult {
            $($(#[doc = $doc])+ pub const $name: CuResult = CuResult($number);)*
        }
    };
}

codes! {
    /// The call did what it was asked. For a query: what was asked about is complete.
    SUCCESS = 0;
    /// An argument is out of its range.
    INVALID_VALUE = 1;
    /// There is not enough memory.
    OUT_OF_MEMORY = 2;
    /// `cuInit` was not called, or failed.
    NOT_INITIALIZED = 3;
    /// The driver is shutting down.
    DEINITIALIZED = 4;
    /// The function is missing ([`take_missing`](crate::take_missing) says which), or the library that was opened
    /// is a toolkit's stub.
    STUB_LIBRARY = 34;
    /// The device is in exclusive use by another process.
    DEVICE_UNAVAILABLE = 46;
    /// The driver finds no CUDA device.
    NO_DEVICE = 100;
    /// There is no device of that ordinal.
    INVALID_DEVICE = 101;
    /// The module image is not valid.
    INVALID_IMAGE = 200;
    /// No context is current, or it is not valid.
    INVALID_CONTEXT = 201;
    /// The module holds no code for this device.
    NO_BINARY_FOR_GPU = 209;
    /// The PTX did not compile.
    INVALID_PTX = 218;
    /// The PTX is of a version newer than the driver's compiler.
    UNSUPPORTED_PTX_VERSION = 222;
    /// A handle is not valid, or not of the kind that the call needs.
    INVALID_HANDLE = 400;
    /// Something that the call needs is in another state.
    ILLEGAL_STATE = 401;
    /// No kernel, variable or other thing of that name.
    NOT_FOUND = 500;
    /// What was asked about is not complete. Not a failure.
    NOT_READY = 600;
    /// A kernel used an address that is not its own. The context is lost.
    ILLEGAL_ADDRESS = 700;
    /// A launch asked for more registers, threads or shared memory than there are.
    LAUNCH_OUT_OF_RESOURCES = 701;
    /// A kernel ran longer than the display's watchdog allows. The context is lost.
    LAUNCH_TIMEOUT = 702;
    /// The primary context is active, so that its flags cannot change.
    PRIMARY_CONTEXT_ACTIVE = 708;
    /// The context was destroyed, or is not initialized.
    CONTEXT_IS_DESTROYED = 709;
    /// A kernel met an instruction that the device does not have. The context is lost.
    ILLEGAL_INSTRUCTION = 715;
    /// A kernel used an address that is not a multiple of the access' size. The context is lost.
    MISALIGNED_ADDRESS = 716;
    /// A kernel failed, by a trap for one. The context is lost.
    LAUNCH_FAILED = 719;
    /// More blocks than can be resident at once, in a launch that needs them to be.
    COOPERATIVE_LAUNCH_TOO_LARGE = 720;
    /// Not allowed here.
    NOT_PERMITTED = 800;
    /// Neither device nor driver can do this.
    NOT_SUPPORTED = 801;
    /// The kernel module and the driver library are of different releases.
    SYSTEM_DRIVER_MISMATCH = 803;
    /// The call is not allowed while a stream is being captured.
    STREAM_CAPTURE_UNSUPPORTED = 900;
    /// An earlier error has spoilt the capture.
    STREAM_CAPTURE_INVALIDATED = 901;
    /// The call would join two captures into one.
    STREAM_CAPTURE_MERGE = 902;
    /// The stream takes part in no capture.
    STREAM_CAPTURE_UNMATCHED = 903;
    /// The capture was forked to another stream and not joined again.
    STREAM_CAPTURE_UNJOINED = 904;
    /// A dependency would cross the border of the capture.
    STREAM_CAPTURE_ISOLATION = 905;
    /// The call would make the capture depend on the legacy stream.
    STREAM_CAPTURE_IMPLICIT = 906;
    /// The event was last recorded in a capture, so that the host cannot ask about it.
    CAPTURED_EVENT = 907;
    /// The capture was begun by another thread.
    STREAM_CAPTURE_WRONG_THREAD = 908;
    /// The driver does not know what happened.
    UNKNOWN = 999;
}

impl CuResult {
    /// The code of this number, known or not.
    pub const fn from_code(code: u32) -> Self {
        CuResult(code)
    }

    /// The driver's number.
    pub const fn code(self) -> u32 {
        self.0
    }

    /// Whether this is [`SUCCESS`](Self::SUCCESS).
    pub const fn is_success(self) -> bool {
        self.0 == Self::SUCCESS.0
    }
}

impl fmt::Debug for CuResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CuResult({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_list_has_is_kept() {
        assert_eq!(CuResult::from_code(4_000_000_000).code(), 4_000_000_000);
        assert!(!CuResult::from_code(4_000_000_000).is_success());
        assert!(CuResult::from_code(0).is_success());
    }

    #[test]
    fn the_code_is_passed_as_the_drivers_int_sized_enum() {
        assert_eq!(size_of::<CuResult>(), size_of::<std::ffi::c_int>());
        assert_eq!(align_of::<CuResult>(), align_of::<std::ffi::c_int>());
    }

    /// The numbers, against those that `cust_raw` took from the header by machine.
    #[test]
    fn the_numbers_are_the_headers() {
        use cust::sys::CUresult as Header;
        for (ours, header) in [
            (CuResult::STUB_LIBRARY, Header::CUDA_ERROR_STUB_LIBRARY),
            (CuResult::INVALID_PTX, Header::CUDA_ERROR_INVALID_PTX),
            (CuResult::UNSUPPORTED_PTX_VERSION, Header::CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
            (CuResult::INVALID_HANDLE, Header::CUDA_ERROR_INVALID_HANDLE),
            (CuResult::NOT_READY, Header::CUDA_ERROR_NOT_READY),
            (CuResult::LAUNCH_FAILED, Header::CUDA_ERROR_LAUNCH_FAILED),
            (CuResult::STREAM_CAPTURE_WRONG_THREAD, Header::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD),
        ] {
            assert_eq!(ours.code(), header as u32, "{header:?}");
        }
    }
}
