//! Arguments and results pass through the jumps unchanged. One process, one filling: each test has functions of its
//! own.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, may fail the test")]

use cuda_driver::{
    CUevent, CUfunction, CUlaunchAttribute, CUlaunchConfig, CUstream, CuResult, Symbol, cuEventElapsedTime,
    cuInit, cuLaunchKernel, cuLaunchKernelEx, fill,
};
use std::ffi::{c_uint, c_void};
use std::hint::black_box;
use std::ptr::{NonNull, null_mut, without_provenance_mut};
use std::sync::{Mutex, Once};

/// All eleven arguments of `cuLaunchKernel`: six travel in registers on x86-64, eight on aarch64, the rest on the
/// stack.
type Launch = ([c_uint; 7], usize, usize, usize, usize);
static LAUNCH: Mutex<Option<Launch>> = Mutex::new(None);

#[allow(clippy::too_many_arguments, reason = "the driver's signature")]
extern "C" fn launch_kernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CuResult {
    *LAUNCH.lock().unwrap() = Some((
        [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared],
        function.as_raw().addr(),
        stream.as_raw().addr(),
        params.addr(),
        extra.addr(),
    ));
    CuResult::from_code(u32::MAX)
}

/// Answers what the configuration says, so that the caller sees that it arrived whole.
unsafe extern "C" fn launch_kernel_ex(
    config: *const CUlaunchConfig,
    _function: CUfunction,
    _params: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> CuResult {
    // SAFETY: the test passes a configuration whose attributes are alive.
    let (config, attributes) = unsafe {
        let config = &*config;
        (config, std::slice::from_raw_parts(config.attrs, config.num_attrs as usize))
    };
    let values: i32 = attributes.iter().map(CUlaunchAttribute::as_int).sum();
    CuResult::from_code(config.grid_dim_x * 1000 + config.block_dim_z * 100 + values as u32)
}

unsafe extern "C" fn event_elapsed_time(milliseconds: *mut f32, start: CUevent, end: CUevent) -> CuResult {
    // SAFETY: the test passes a place for the result.
    unsafe { *milliseconds = (end.as_raw().addr() - start.as_raw().addr()) as f32 / 8.0 };
    CuResult::SUCCESS
}

extern "C" fn init(flags: c_uint) -> CuResult {
    CuResult::from_code(flags + 1)
}

/// Comes back in two registers, one of each kind.
#[derive(Debug, PartialEq)]
#[repr(C)]
struct Seen {
    whole: u64,
    floating: f64,
}

/// More arguments than registers of either kind, in several widths: no driver function looks like this, and the
/// jump must not care. Each argument has a decimal place of its own in the answer.
#[rustfmt::skip]
#[allow(clippy::too_many_arguments, reason = "that is the point")]
extern "C" fn mixed(
    w0: u8, f0: f64, w1: u64, f1: f32, w2: u16, f2: f64, w3: u32, f3: f64, w4: u64, f4: f64,
    w5: u64, f5: f64, w6: u64, f6: f64, w7: u64, f7: f64, w8: u64, f8: f64, w9: u64, f9: f32,
) -> Seen {
    let whole = [w0.into(), w1, w2.into(), w3.into(), w4, w5, w6, w7, w8, w9];
    let floating = [f0, f1.into(), f2, f3, f4, f5, f6, f7, f8, f9.into()];
    Seen {
        whole: whole.iter().fold(0, |seen, digit| seen * 10 + digit),
        floating: floating.iter().fold(0.0, |seen, digit| seen * 10.0 + digit),
    }
}

#[rustfmt::skip]
unsafe extern "C" {
    /// The jump of a symbol that no other test uses, called by a signature that is not the driver's.
    #[link_name = "cuMemcpy2D_v2"]
    fn jump_to_mixed(
        w0: u8, f0: f64, w1: u64, f1: f32, w2: u16, f2: f64, w3: u32, f3: f64, w4: u64, f4: f64,
        w5: u64, f5: f64, w6: u64, f6: f64, w7: u64, f7: f64, w8: u64, f8: f64, w9: u64, f9: f32,
    ) -> Seen;
}

fn fill_once() {
    static FILL: Once = Once::new();
    FILL.call_once(|| {
        let function = |symbol| {
            NonNull::new(match symbol {
                Symbol::cuLaunchKernel => launch_kernel as *mut c_void,
                Symbol::cuLaunchKernelEx => launch_kernel_ex as *mut c_void,
                Symbol::cuEventElapsedTime => event_elapsed_time as *mut c_void,
                Symbol::cuInit => init as *mut c_void,
                Symbol::cuMemcpy2D_v2 => mixed as *mut c_void,
                _ => null_mut(),
            })
        };
        // SAFETY: each function has the signature that its test calls it by.
        unsafe { fill(function) };
    });
}

#[test]
fn a_launch_has_all_eleven_arguments() {
    fill_once();
    let function = CUfunction::from_raw(without_provenance_mut(0xF00D_F00D_F00D_F00D));
    let stream = CUstream::from_raw(without_provenance_mut(0x5757_5757_5757_5757));
    let (params, extra) = (without_provenance_mut(0x1111_2222_3333_4444), without_provenance_mut(usize::MAX));
    // SAFETY: behind the jump is `launch_kernel`, which follows no pointer.
    let code = unsafe { cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, c_uint::MAX, stream, params, extra) };
    assert_eq!(code.code(), u32::MAX);
    assert_eq!(
        *LAUNCH.lock().unwrap(),
        Some((
            [1, 2, 3, 4, 5, 6, c_uint::MAX],
            0xF00D_F00D_F00D_F00D,
            0x5757_5757_5757_5757,
            0x1111_2222_3333_4444,
            usize::MAX,
        ))
    );
}

#[test]
fn a_launch_with_attributes_has_its_configuration() {
    fill_once();
    let mut attributes =
        [CUlaunchAttribute::programmatic_stream_serialization(true), CUlaunchAttribute::priority(41)];
    let config = CUlaunchConfig {
        grid_dim_x: 7,
        grid_dim_y: 0,
        grid_dim_z: 0,
        block_dim_x: 0,
        block_dim_y: 0,
        block_dim_z: 9,
        shared_mem_bytes: 0,
        stream: CUstream::LEGACY,
        attrs: attributes.as_mut_ptr(),
        num_attrs: 2,
    };
    // SAFETY: behind the jump is `launch_kernel_ex`, which reads the configuration and its two attributes.
    let code = unsafe { cuLaunchKernelEx(&config, CUfunction::NULL, null_mut(), null_mut()) };
    assert_eq!(code.code(), 7942);
}

#[test]
fn a_float_is_written_through_its_pointer() {
    fill_once();
    let event = |number| CUevent::from_raw(without_provenance_mut(number));
    let mut milliseconds = 0.0;
    // SAFETY: behind the jump is `event_elapsed_time`, which writes one f32.
    let code = unsafe { cuEventElapsedTime(&mut milliseconds, event(1), event(6)) };
    assert_eq!((code, milliseconds), (CuResult::SUCCESS, 0.625));
}

#[test]
fn floats_and_integers_pass_in_registers_and_on_the_stack() {
    fill_once();
    // SAFETY: behind the jump is `mixed`, which has exactly this signature.
    #[rustfmt::skip]
    let seen = unsafe {
        jump_to_mixed(
            1, 9.0, 2, 8.0, 3, 7.0, 4, 6.0, 5, 5.0,
            6, 4.0, 7, 3.0, 8, 2.0, 9, 1.0, 0, 0.5,
        )
    };
    assert_eq!(seen, Seen { whole: 1_234_567_890, floating: 9_876_543_210.5 });
}

#[test]
fn a_jump_may_be_called_by_its_address() {
    fill_once();
    let jump: unsafe extern "C" fn(c_uint) -> CuResult = black_box(cuInit);
    // SAFETY: behind the jump is `init`, which has this signature.
    assert_eq!(unsafe { jump(41) }.code(), 42);
}

#[test]
fn threads_may_call_at_the_same_time() {
    fill_once();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for number in 0..1000 {
                    let flags = thread * 1000 + number;
                    // SAFETY: behind the jump is `init`, which keeps no state.
                    assert_eq!(unsafe { cuInit(flags) }.code(), flags + 1);
                }
            });
        }
    });
}
