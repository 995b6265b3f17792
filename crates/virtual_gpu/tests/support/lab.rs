//! A program's side of the driver: what the submission layer of a real program does, with every code checked.

use cuda_driver::*;
use std::ffi::{CString, c_void};
use std::ptr;
use virtual_gpu::card::Card;
use virtual_gpu::driver::{self, Options};

/// Stops the test when a call answers anything but success.
#[track_caller]
pub fn ok(code: CuResult) {
    assert!(code.is_success(), "the driver answered {}", code.code());
}

/// A context with one module on a virtual card. The driver belongs to the process: one lab at a time.
pub struct Lab {
    module: CUmodule,
}

impl Lab {
    /// Fills the table with the virtual driver and loads the module.
    pub fn open(card: Card, options: Options, ptx: &str) -> Self {
        driver::install(card, options);
        // SAFETY: the functions are those of the driver's manual, and live as long as the process.
        unsafe { fill(driver::resolve) };
        let (mut context, mut module) = (CUcontext::NULL, CUmodule::NULL);
        let text = CString::new(ptx).expect("a text without a zero");
        // SAFETY: here and below, each pointer is one to what the call wants, alive until it returns.
        unsafe {
            ok(cuInit(0));
            ok(cuDevicePrimaryCtxRetain(&mut context, CUdevice(0)));
            ok(cuCtxSetCurrent(context));
            ok(cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 0, ptr::null_mut(), ptr::null_mut()));
        }
        Lab { module }
    }

    /// A kernel, brought to the card.
    pub fn kernel(&self, name: &str) -> CUfunction {
        let mut function = CUfunction::NULL;
        let name = CString::new(name).expect("a name without a zero");
        // SAFETY: see `open`.
        unsafe {
            ok(cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
            ok(cuFuncLoad(function));
        }
        function
    }

    /// A stream.
    pub fn stream(&self, flags: CUstreamFlags) -> CUstream {
        let mut stream = CUstream::NULL;
        // SAFETY: see `open`.
        ok(unsafe { cuStreamCreate(&mut stream, flags.0) });
        stream
    }

    /// An event.
    pub fn event(&self, flags: CUeventFlags) -> CUevent {
        let mut event = CUevent::NULL;
        // SAFETY: see `open`.
        ok(unsafe { cuEventCreate(&mut event, flags.0) });
        event
    }

    /// Device memory for so many floats, zeroed.
    pub fn floats(&self, count: usize) -> CUdeviceptr {
        let mut address = CUdeviceptr(0);
        // SAFETY: see `open`.
        unsafe {
            ok(cuMemAlloc_v2(&mut address, 4 * count));
            ok(cuMemsetD32_v2(address, 0, count));
        }
        address
    }

    /// Copies floats to the device.
    pub fn write(&self, to: CUdeviceptr, data: &[f32]) {
        // SAFETY: see `open`; the copy is over when the call returns.
        ok(unsafe { cuMemcpyHtoD_v2(to, data.as_ptr().cast(), size_of_val(data)) });
    }

    /// Copies floats from the device.
    pub fn read(&self, from: CUdeviceptr, count: usize) -> Vec<f32> {
        let mut data = vec![0.0_f32; count];
        // SAFETY: see `open`; the copy is over when the call returns.
        ok(unsafe { cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), from, 4 * count) });
        data
    }

    /// Launches blocks of 256 threads.
    pub fn launch(&self, function: CUfunction, blocks: usize, stream: CUstream, arguments: &[Argument]) {
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|argument| ptr::from_ref(&argument.0).cast_mut().cast()).collect();
        // SAFETY: see `open`; each argument has the eight bytes that the largest parameter wants.
        ok(unsafe {
            cuLaunchKernel(
                function,
                blocks as u32,
                1,
                1,
                256,
                1,
                1,
                0,
                stream,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        });
    }

    /// Milliseconds from `start` to `stop` on the card.
    pub fn elapsed_ms(&self, start: CUevent, stop: CUevent) -> f32 {
        let mut ms = 0.0;
        // SAFETY: see `open`.
        ok(unsafe { cuEventElapsedTime(&mut ms, start, stop) });
        ms
    }
}

/// A kernel's argument: up to eight bytes.
#[derive(Clone, Copy)]
pub struct Argument(u64);

impl From<CUdeviceptr> for Argument {
    fn from(address: CUdeviceptr) -> Self {
        Argument(address.0)
    }
}
impl From<usize> for Argument {
    fn from(number: usize) -> Self {
        Argument(number as u64)
    }
}
impl From<u32> for Argument {
    fn from(number: u32) -> Self {
        Argument(u64::from(number))
    }
}
impl From<f32> for Argument {
    fn from(number: f32) -> Self {
        Argument(u64::from(number.to_bits()))
    }
}
