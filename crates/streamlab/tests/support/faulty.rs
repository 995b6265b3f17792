//! The virtual device's driver with a fault put in: one call fails, or one launch is lost. It notes every call.

#![allow(dead_code, reason = "each test binary uses its part of it")]

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use cuda_driver::{CuResult, Symbol};
use virtual_gpu::card::H200;
use virtual_gpu::driver::{self, Options};

/// What goes wrong, and what was called.
#[derive(Clone, Debug, Default)]
pub struct Faulty {
    /// The call that fails, counted from 0 over all calls, and its code.
    pub fails: Option<(usize, u32)>,
    /// The launch that returns success and does nothing, counted from 0.
    pub loses_launch: Option<usize>,
    /// Every call that was made, in order, with whether it succeeded.
    pub calls: Vec<(Symbol, bool)>,
}

impl Faulty {
    /// How many objects of each kind were made and not released.
    pub fn leaks(&self) -> Vec<(Symbol, usize)> {
        let done = |symbol: Symbol| self.calls.iter().filter(|call| **call == (symbol, true)).count();
        let pairs = [
            ([Symbol::cuDevicePrimaryCtxRetain].as_slice(), Symbol::cuDevicePrimaryCtxRelease_v2),
            (&[Symbol::cuModuleLoadDataEx], Symbol::cuModuleUnload),
            (&[Symbol::cuStreamCreate, Symbol::cuStreamCreateWithPriority], Symbol::cuStreamDestroy_v2),
            (&[Symbol::cuEventCreate], Symbol::cuEventDestroy_v2),
            (&[Symbol::cuMemAlloc_v2], Symbol::cuMemFree_v2),
            (&[Symbol::cuMemAllocHost_v2], Symbol::cuMemFreeHost),
            (&[Symbol::cuStreamEndCapture], Symbol::cuGraphDestroy),
            (&[Symbol::cuGraphInstantiateWithFlags], Symbol::cuGraphExecDestroy),
        ];
        let left = pairs.iter().map(|(make, release)| {
            let made: usize = make.iter().map(|&symbol| done(symbol)).sum();
            (*release, made - done(*release))
        });
        left.filter(|(_, count)| *count > 0).collect()
    }
}

static FAULTY: Mutex<Option<Faulty>> = Mutex::new(None);

/// Fills the driver's table with the virtual H200 and this fault, runs `test` on [`streamlab::Device::Installed`], and returns the
/// calls. The table belongs to the process: the caller holds it alone.
pub fn with<T>(faulty: Faulty, test: impl FnOnce() -> T) -> (T, Faulty) {
    driver::install(H200, Options::default());
    *FAULTY.lock().unwrap_or_else(PoisonError::into_inner) = Some(faulty);
    // SAFETY: each function is the virtual device's, or passes its arguments on to it; functions live for ever.
    unsafe { cuda_driver::fill(resolve) };
    let outcome = test();
    let faulty = FAULTY.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
    (outcome, faulty)
}

type Words = unsafe extern "C" fn(
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
    usize,
) -> CuResult;

/// Notes the call, and passes it on unless it was chosen to fail. Every argument of these functions is an integer or a pointer, which
/// a word carries, and no function has more than eleven.
unsafe extern "C" fn call<const SYMBOL: usize>(
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
    g: usize,
    h: usize,
    i: usize,
    j: usize,
    k: usize,
) -> CuResult {
    let symbol = Symbol::ALL[SYMBOL];
    let is_launch = |symbol: &Symbol| matches!(symbol, Symbol::cuLaunchKernel | Symbol::cuLaunchKernelEx);
    let (number, chosen) = {
        let mut faulty = FAULTY.lock().unwrap_or_else(PoisonError::into_inner);
        let faulty = faulty.get_or_insert_default();
        let number = faulty.calls.len();
        let launches = faulty.calls.iter().filter(|(symbol, _)| is_launch(symbol)).count();
        let fails = faulty.fails.filter(|(at, _)| *at == number).map(|(_, code)| CuResult::from_code(code));
        let lost = is_launch(&symbol) && faulty.loses_launch == Some(launches);
        faulty.calls.push((symbol, false));
        (number, fails.or(lost.then_some(CuResult::SUCCESS)))
    };
    let answer = match (chosen, driver::resolve(symbol)) {
        (Some(code), _) => code,
        (None, None) => CuResult::NOT_SUPPORTED,
        (None, Some(real)) => {
            // SAFETY: the function takes a part of these words, in the registers and stack slots that they are passed in.
            unsafe {
                let real: Words = std::mem::transmute(real.as_ptr());
                real(a, b, c, d, e, f, g, h, i, j, k)
            }
        }
    };
    if let Some(faulty) = FAULTY.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        faulty.calls[number].1 = answer.is_success();
    }
    answer
}

macro_rules! watched {
    ($($name:ident)*) => {
        fn resolve(symbol: Symbol) -> Option<NonNull<c_void>> {
            match symbol {
                $(Symbol::$name => NonNull::new(call::<{ Symbol::$name as usize }> as *mut c_void),)*
                // Asking for an error's words is not part of what a test follows.
                other => driver::resolve(other),
            }
        }
    };
}

watched! {
    cuInit cuDriverGetVersion cuDeviceGet cuDeviceGetCount cuDeviceGetName cuDeviceGetAttribute cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxRelease_v2 cuCtxSetCurrent cuCtxSynchronize cuCtxGetStreamPriorityRange cuModuleLoadDataEx cuModuleUnload
    cuModuleGetFunction cuFuncLoad cuOccupancyMaxActiveBlocksPerMultiprocessor cuStreamCreate cuStreamCreateWithPriority
    cuStreamDestroy_v2 cuStreamSynchronize cuStreamQuery cuStreamWaitEvent cuStreamGetPriority cuStreamBeginCapture_v2
    cuStreamEndCapture cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventSynchronize cuEventQuery cuEventElapsedTime
    cuMemAlloc_v2 cuMemFree_v2 cuMemAllocHost_v2 cuMemFreeHost cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemcpyHtoDAsync_v2
    cuMemcpyDtoHAsync_v2 cuMemcpyDtoDAsync_v2 cuMemsetD8_v2 cuMemsetD8Async cuLaunchKernel cuLaunchKernelEx
    cuGraphInstantiateWithFlags cuGraphLaunch cuGraphDestroy cuGraphExecDestroy cuGraphGetNodes cuGraphGetEdges
    cuGraphNodeGetType
}
