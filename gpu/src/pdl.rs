//! The kernels of the lesson on programmatic dependent launch: a primary of two phases, of which the secondary needs only
//! the first, and a secondary with a prologue that needs nothing of the primary.
//!
//! The primary comes in four versions that differ in where the trigger stands. The results are the same in all of them.

use cuda_std::arith::{fma, opaque};
use cuda_std::{kernel, pdl, thread};

/// Fused multiply-adds of each phase.
pub const STEPS: u32 = 256;
/// The first phase, what the secondary needs: `v = v * 0.999 + 0.25`.
pub const PRODUCE: (f32, f32) = (0.999, 0.25);
/// The second phase, what it does not need.
pub const EPILOGUE: (f32, f32) = (0.997, 0.125);
/// The secondary's prologue.
pub const PROLOGUE: (f32, f32) = (0.998, 0.5);

/// The primary, as in the course: `mid` from `x`, the trigger, then `aux` from `x`. One thread for each element.
#[kernel(since = "sm_90", equal_lengths)]
pub fn produce_stage(x: &[f32], mid: &mut [f32], aux: &mut [f32]) {
    first_phase(x, mid);
    pdl::trigger();
    second_phase(x, aux);
}

/// The primary with the trigger before everything else: the secondary may start as soon as there is room.
#[kernel(since = "sm_90", equal_lengths)]
pub fn produce_stage_early(x: &[f32], mid: &mut [f32], aux: &mut [f32]) {
    pdl::trigger();
    first_phase(x, mid);
    second_phase(x, aux);
}

/// The primary with the trigger after everything else: what the end of each block would do by itself.
#[kernel(since = "sm_90", equal_lengths)]
pub fn produce_stage_late(x: &[f32], mid: &mut [f32], aux: &mut [f32]) {
    first_phase(x, mid);
    second_phase(x, aux);
    pdl::trigger();
}

/// The primary without a trigger.
#[kernel(since = "sm_90", equal_lengths)]
pub fn produce_stage_never(x: &[f32], mid: &mut [f32], aux: &mut [f32]) {
    first_phase(x, mid);
    second_phase(x, aux);
}

/// The secondary: a prologue on `y`, the wait, then `out = mid + prologue`. One thread for each element of `out`; `mid`
/// has as many.
///
/// # Safety
///
/// Until the launch is done, `mid` is the address of at least as many elements as `out` has, and once the wait is over,
/// nothing writes them. It is a pointer, because the primary may be writing it until then.
#[kernel(since = "sm_90", equal_lengths)]
pub unsafe fn combine_stage(mid: *const f32, y: &[f32], out: &mut [f32]) {
    let i = thread::index_1d();
    let prologue = if i < out.len() { chain(y[i], PROLOGUE) } else { 0.0 };
    pdl::wait();
    // To the compiler this is another index. Were it the same, one path would lead through the chain, the wait and the
    // sum, and the assembler moves a wait up to the start of such a path: the prologue would then wait too.
    let i = opaque(i as u64) as usize;
    if i < out.len() {
        // SAFETY: `mid` has at least as many elements as `out`, and nothing writes them any more: the wait is over.
        out[i] = unsafe { *mid.add(i) } + prologue;
    }
}

#[inline(always)]
fn first_phase(x: &[f32], mid: &mut [f32]) {
    let i = thread::index_1d();
    if i < mid.len() {
        mid[i] = chain(x[i], PRODUCE);
    }
}

#[inline(always)]
fn second_phase(x: &[f32], aux: &mut [f32]) {
    let i = thread::index_1d();
    if i < aux.len() {
        aux[i] = chain(x[i], EPILOGUE);
    }
}

#[inline(always)]
fn chain(mut v: f32, (mul, add): (f32, f32)) -> f32 {
    for _ in 0..STEPS {
        v = fma(v, mul, add);
    }
    v
}
