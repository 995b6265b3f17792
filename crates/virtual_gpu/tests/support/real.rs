//! A real GPU behind the tests' card: the same kernels, through NVIDIA's driver.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Once;

use cuda_driver::*;

/// A module on the first GPU.
pub struct Real {
    module: CUmodule,
}

#[track_caller]
fn ok(code: CuResult) {
    assert!(code.is_success(), "the driver answered {}", code.code());
}

impl Real {
    pub fn new(ptx: &str) -> Self {
        Self::load(ptx).unwrap_or_else(|code| panic!("the driver answered {code}"))
    }

    /// Loads a module, or says with which code the driver refuses it.
    pub fn load(ptx: &str) -> Result<Self, u32> {
        static DRIVER: Once = Once::new();
        DRIVER.call_once(|| {
            let library = Library::open().unwrap_or_else(|error| panic!("{error}"));
            // SAFETY: the library is NVIDIA's, its functions are what their names say, and it is never closed.
            unsafe { fill(|symbol| library.resolve(symbol)) };
        });
        let (mut context, mut module) = (CUcontext::NULL, CUmodule::NULL);
        let text = CString::new(ptx).unwrap();
        // SAFETY: here and below, each pointer is one to what the call wants, alive until it returns.
        unsafe {
            ok(cuInit(0));
            ok(cuDevicePrimaryCtxRetain(&mut context, CUdevice(0)));
            ok(cuCtxSetCurrent(context));
            let code =
                cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 0, ptr::null_mut(), ptr::null_mut());
            if !code.is_success() {
                return Err(code.code());
            }
        }
        Ok(Self { module })
    }

    pub fn upload(&self, bytes: &[u8]) -> u64 {
        let mut address = CUdeviceptr(0);
        // SAFETY: see `new`.
        unsafe {
            ok(cuMemAlloc_v2(&mut address, bytes.len().max(1)));
            ok(cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()));
        }
        address.0
    }

    pub fn download(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        // SAFETY: see `new`.
        ok(unsafe { cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), CUdeviceptr(address), bytes) });
        data
    }

    /// Runs a kernel to its end; `values` are the bytes of each parameter.
    pub fn run(&self, kernel: &str, grid: [u32; 3], block: [u32; 3], values: &mut [Vec<u8>]) {
        let mut function = CUfunction::NULL;
        let name = CString::new(kernel).unwrap();
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        let ([x, y, z], [i, j, k]) = (grid, block);
        // SAFETY: see `new`.
        unsafe {
            ok(cuModuleGetFunction(&mut function, self.module, name.as_ptr()));
            ok(cuLaunchKernel(
                function,
                x,
                y,
                z,
                i,
                j,
                k,
                0,
                CUstream::NULL,
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            ));
            ok(cuCtxSynchronize());
        }
    }
}
