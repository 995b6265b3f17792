//! A driver library that lacks a newer function serves everything else. One process, one filling.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, may fail the test")]

mod support;

use cuda_driver::{
    CUfunction, CUstream, CuResult, Library, MissingSymbol, Symbol, cuInit, cuLaunchKernel, cuLaunchKernelEx,
    fill, is_available, take_missing,
};
use std::ptr::{null, null_mut};

/// Opens a library made for the purpose and drops the [`Library`]: its functions must stay.
fn fill_from_a_driver_without(missing: Symbol) {
    let source = support::driver_source(|symbol| symbol != missing);
    let folder = concat!(env!("CARGO_TARGET_TMPDIR"), "/old_driver");
    let path = support::compile_library(&source, folder.as_ref());
    // SAFETY: the library has no initialization, and its functions answer 0 whatever they are called with.
    let library = unsafe { Library::open_as(&path) }.unwrap();
    // SAFETY: as above, and a library that was opened is never closed.
    unsafe { fill(|symbol| library.resolve(symbol)) };
}

#[test]
fn only_the_missing_function_is_missed() {
    fill_from_a_driver_without(Symbol::cuLaunchKernelEx);

    for &symbol in Symbol::ALL {
        assert_eq!(is_available(symbol), symbol != Symbol::cuLaunchKernelEx, "{symbol}");
    }
    // SAFETY: none of the three follows a pointer: two answer 0, the third is not there.
    let (init, launch, launch_ex) = unsafe {
        (
            cuInit(0),
            cuLaunchKernel(CUfunction::NULL, 1, 1, 1, 1, 1, 1, 0, CUstream::NULL, null_mut(), null_mut()),
            cuLaunchKernelEx(null(), CUfunction::NULL, null_mut(), null_mut()),
        )
    };
    assert_eq!((init, launch), (CuResult::SUCCESS, CuResult::SUCCESS));
    assert_eq!(launch_ex, CuResult::STUB_LIBRARY);
    let missing = take_missing().unwrap();
    assert_eq!(missing, MissingSymbol::NotInDriver(Symbol::cuLaunchKernelEx));
    assert_eq!(
        missing.to_string(),
        "cuLaunchKernelEx is not in this driver: it came with CUDA 11.8; update the driver"
    );

    let on_another_thread = std::thread::spawn(take_missing).join().unwrap();
    assert_eq!(on_another_thread, None, "what one thread missed is not another's");
}
