//! Names and texts of the driver's codes, as `cuGetErrorName` and `cuGetErrorString` give them.

use std::ffi::CStr;

macro_rules! codes {
    ($($number:literal $name:literal $text:literal)*) => {
        /// The name and the text of a code; none for a number that the driver does not know.
        pub fn of(code: u32) -> Option<(&'static CStr, &'static CStr)> {
            match code {
                $($number => Some(($name, $text)),)*
                _ => None,
            }
        }
    };
}

codes! {
    0 c"CUDA_SUCCESS" c"no error"
    1 c"CUDA_ERROR_INVALID_VALUE" c"invalid argument"
    2 c"CUDA_ERROR_OUT_OF_MEMORY" c"out of memory"
    3 c"CUDA_ERROR_NOT_INITIALIZED" c"initialization error"
    4 c"CUDA_ERROR_DEINITIALIZED" c"driver shutting down"
    34 c"CUDA_ERROR_STUB_LIBRARY" c"CUDA driver is a stub library"
    46 c"CUDA_ERROR_DEVICE_UNAVAILABLE" c"CUDA-capable device(s) is/are busy or unavailable"
    100 c"CUDA_ERROR_NO_DEVICE" c"no CUDA-capable device is detected"
    101 c"CUDA_ERROR_INVALID_DEVICE" c"invalid device ordinal"
    200 c"CUDA_ERROR_INVALID_IMAGE" c"device kernel image is invalid"
    201 c"CUDA_ERROR_INVALID_CONTEXT" c"invalid device context"
    209 c"CUDA_ERROR_NO_BINARY_FOR_GPU" c"no kernel image is available for execution on the device"
    218 c"CUDA_ERROR_INVALID_PTX" c"a PTX JIT compilation failed"
    222 c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION" c"the provided PTX was compiled with an unsupported toolchain."
    301 c"CUDA_ERROR_FILE_NOT_FOUND" c"file not found"
    400 c"CUDA_ERROR_INVALID_HANDLE" c"invalid resource handle"
    401 c"CUDA_ERROR_ILLEGAL_STATE" c"the operation cannot be performed in the present state"
    500 c"CUDA_ERROR_NOT_FOUND" c"named symbol not found"
    600 c"CUDA_ERROR_NOT_READY" c"device not ready"
    700 c"CUDA_ERROR_ILLEGAL_ADDRESS" c"an illegal memory access was encountered"
    701 c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" c"too many resources requested for launch"
    702 c"CUDA_ERROR_LAUNCH_TIMEOUT" c"the launch timed out and was terminated"
    708 c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE" c"cannot set while device is active in this process"
    709 c"CUDA_ERROR_CONTEXT_IS_DESTROYED" c"context is destroyed"
    715 c"CUDA_ERROR_ILLEGAL_INSTRUCTION" c"an illegal instruction was encountered"
    716 c"CUDA_ERROR_MISALIGNED_ADDRESS" c"misaligned address"
    719 c"CUDA_ERROR_LAUNCH_FAILED" c"unspecified launch failure"
    800 c"CUDA_ERROR_NOT_PERMITTED" c"operation not permitted"
    801 c"CUDA_ERROR_NOT_SUPPORTED" c"operation not supported"
    900 c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" c"operation not permitted when stream is capturing"
    901 c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" c"operation failed due to a previous error during capture"
    902 c"CUDA_ERROR_STREAM_CAPTURE_MERGE" c"operation would result in a merge of separate capture sequences"
    903 c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" c"capture was not ended in the same stream as it began"
    904 c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED" c"capturing stream has unjoined work"
    905 c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION" c"dependency created on uncaptured work in another stream"
    906 c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT" c"operation would make the legacy stream depend on a capturing blocking stream"
    907 c"CUDA_ERROR_CAPTURED_EVENT" c"operation not permitted on an event last recorded in a capturing stream"
    908 c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" c"attempt to terminate a thread-local capture sequence from another thread"
    999 c"CUDA_ERROR_UNKNOWN" c"unknown error"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_name_and_its_text() {
        assert_eq!(of(400), Some((c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle")));
        assert_eq!(of(12_345), None);
    }
}
