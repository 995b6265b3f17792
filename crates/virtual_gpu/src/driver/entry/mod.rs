//! The C functions: each takes the driver's lock, hands its arguments to a method, and answers its code.
//!
//! What C passes as a pointer arrives here as a type that says what it is for ([`Out`], [`Text`], ...). Such a value comes
//! into being in one way only, as an argument of one of these functions, whose callers promise what `cuda_driver::calls`
//! asks of them: that is what the safety comments in this room refer to as *the caller's promise*.

mod context;
mod device;
mod graph;
mod memory;
mod module;
mod stream;

use super::{Answer, Driver, lock, unsupported};
use cuda_driver::{CuResult, Symbol};
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Where a caller wants a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Writes the result, if there is one. Without a place for it, nothing is done.
    fn put(self, result: impl FnOnce() -> Answer<T>) -> Answer<()> {
        if self.0.is_null() {
            return Err(CuResult::INVALID_VALUE);
        }
        let result = result()?;
        // SAFETY: not null, and writable for its type by the caller's promise.
        unsafe { self.0.write(result) };
        Ok(())
    }
}

/// A C string.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    fn read(&self) -> Answer<&str> {
        if self.0.is_null() {
            return Err(CuResult::INVALID_VALUE);
        }
        // SAFETY: not null, and a string that ends with a zero by the caller's promise.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map_err(|_| CuResult::INVALID_VALUE)
    }
}

/// Runs a call on the driver. A panic, which would be a bug of this crate, ends in a code and not in the caller's C frames.
fn call(run: impl FnOnce(&mut Driver) -> Answer<()>) -> CuResult {
    let answer = catch_unwind(AssertUnwindSafe(|| match lock().as_mut() {
        Some(driver) => run(driver),
        None => Err(CuResult::NOT_INITIALIZED),
    }));
    match answer {
        Ok(answer) => answer.err().unwrap_or(CuResult::SUCCESS),
        Err(_) => CuResult::UNKNOWN,
    }
}

macro_rules! functions {
    (
        has { $($room:ident: $($name:ident)*;)* }
        lacks { $($missing:ident)* }
    ) => {
        /// The function of that name, or what stands for it.
        pub fn function(symbol: Symbol) -> *const c_void {
            match symbol {
                $($(Symbol::$name => $room::$name as *const c_void,)*)*
                $(Symbol::$missing => unsupported::answer::<{ Symbol::$missing as usize }> as *const c_void,)*
            }
        }
    };
}

functions! {
    has {
        device: cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuDeviceGet cuDeviceGetCount cuDeviceGetName
            cuDeviceGetAttribute cuDeviceTotalMem_v2;
        context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxGetState
            cuDevicePrimaryCtxSetFlags_v2 cuDevicePrimaryCtxReset_v2 cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxPushCurrent_v2
            cuCtxPopCurrent_v2 cuCtxSetCurrent cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxGetApiVersion
            cuCtxGetStreamPriorityRange cuCtxSynchronize;
        module: cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuModuleGetFunction cuModuleGetGlobal_v2
            cuModuleGetLoadingMode cuFuncGetAttribute cuFuncSetAttribute cuFuncLoad
            cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize
            cuOccupancyAvailableDynamicSMemPerBlock cuLaunchKernel cuLaunchKernelEx;
        stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery
            cuStreamWaitEvent cuStreamGetFlags cuStreamGetPriority cuEventCreate cuEventDestroy_v2 cuEventRecord
            cuEventQuery cuEventSynchronize cuEventElapsedTime;
        graph: cuStreamBeginCapture_v2 cuStreamEndCapture cuStreamIsCapturing cuGraphInstantiateWithFlags cuGraphLaunch
            cuGraphExecDestroy cuGraphDestroy cuGraphGetNodes cuGraphGetEdges cuGraphNodeGetType;
        memory: cuMemAlloc_v2 cuMemFree_v2 cuMemAllocHost_v2 cuMemFreeHost cuMemGetInfo_v2 cuMemcpyHtoD_v2
            cuMemcpyDtoH_v2 cuMemcpyDtoD_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8_v2
            cuMemsetD16_v2 cuMemsetD32_v2 cuMemsetD8Async cuMemsetD16Async cuMemsetD32Async;
    }
    lacks {
        cuCtxGetLimit cuCtxSetLimit cuCtxGetCacheConfig cuCtxSetCacheConfig cuCtxGetSharedMemConfig
        cuCtxSetSharedMemConfig cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete cuLinkDestroy cuFuncSetCacheConfig
        cuFuncSetSharedMemConfig cuLaunchHostFunc cuMemAllocManaged cuMemAllocAsync cuMemFreeAsync cuMemAdvise
        cuMemPrefetchAsync cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyHtoA_v2 cuGraphCreate cuGraphAddKernelNode
        cuGraphKernelNodeGetParams cuGraphDebugDotPrint cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy
        cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetResourceViewDesc
        cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc cuImportExternalMemory
        cuExternalMemoryGetMappedBuffer cuDestroyExternalMemory
    }
}
