//! Calls on modules, on kernels, and the launches.

use crate::handles::{CUfunction, CUmodule, CUstream};
use crate::launch::CUlaunchConfig;
use crate::numbers::{CUfunctionAttribute, CUjitOption, CUmoduleLoadingMode};
use crate::result::CuResult;
use std::ffi::{c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    /// Loads an image, for PTX text one that ends with a zero, into the current context. `options` and `values`
    /// hold `count` entries each. Answers `INVALID_PTX` or `UNSUPPORTED_PTX_VERSION` for PTX that it cannot compile.
    pub fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut CUjitOption,
        values: *mut *mut c_void,
    ) -> CuResult;

    /// Unloads a module. Its functions are then gone.
    pub fn cuModuleUnload(module: CUmodule) -> CuResult;

    /// Writes the kernel of this name. Answers `NOT_FOUND` when the module has none.
    pub fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CuResult;

    /// Writes whether kernels are loaded as their module is, or at their first use. Since CUDA 11.7.
    pub fn cuModuleGetLoadingMode(mode: *mut CUmoduleLoadingMode) -> CuResult;

    /// Writes one attribute of the kernel.
    pub fn cuFuncGetAttribute(
        value: *mut c_int,
        attribute: CUfunctionAttribute,
        function: CUfunction,
    ) -> CuResult;

    /// Sets one attribute of the kernel, for its later launches.
    pub fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunctionAttribute, value: c_int)
    -> CuResult;

    /// Loads the kernel onto the device now instead of at its first launch. Since CUDA 12.4; before that, a launch
    /// does it.
    pub fn cuFuncLoad(function: CUfunction) -> CuResult;

    /// Writes how many blocks of `block_size` threads and `dynamic_shared` bytes can be resident on a
    /// multiprocessor.
    pub fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        block_size: c_int,
        dynamic_shared: usize,
    ) -> CuResult;

    /// Launches a kernel. `params` holds one pointer for each parameter; what they point to is copied before the
    /// call returns. `extra` is null.
    pub fn cuLaunchKernel(
        function: CUfunction,
        grid_dim_x: c_uint,
        grid_dim_y: c_uint,
        grid_dim_z: c_uint,
        block_dim_x: c_uint,
        block_dim_y: c_uint,
        block_dim_z: c_uint,
        shared_mem_bytes: c_uint,
        stream: CUstream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CuResult;

    /// Launches a kernel with attributes. As `cuLaunchKernel`; the attributes too are read before the call returns.
    /// Since CUDA 11.8.
    pub fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        function: CUfunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CuResult;
}
