//! The lessons' kernels on the CPU, for the driver of the tests, and what each costs there. The costs are made up: they
//! only have to tell overlap from its absence.

#![expect(clippy::undocumented_unsafe_blocks, reason = "the argument is the function's own contract")]

use std::slice;

use host::reference;

/// What a kernel costs on the tests' card.
#[derive(Clone, Copy)]
pub struct Cost {
    /// Microseconds.
    pub us: f64,
    /// No other such kernel runs beside it.
    pub fills_the_card: bool,
}

/// The kernel's arguments.
pub fn slots(name: &str) -> usize {
    gpu::KERNELS.iter().find(|kernel| kernel.name == name).map_or(0, |kernel| kernel.slots().count())
}

/// Runs a kernel and returns what it costs. `spoiled` makes one element of its result wrong.
///
/// # Safety
///
/// `arguments` are as many pointers as the kernel has slots, and each slice among them is a live allocation.
pub unsafe fn run(name: &str, arguments: *mut *mut u64, spoiled: bool, folds_the_spin: bool) -> Cost {
    let slot = |index| unsafe { **arguments.add(index) };
    // A kernel's slices share one length: it stands behind the first slice's address.
    let shared = |address, length| unsafe {
        slice::from_raw_parts_mut(slot(address) as *mut f32, slot(length) as usize)
    };
    let number = |index| f32::from_bits(slot(index) as u32);
    let few = |us| Cost { us, fills_the_card: false };
    let full = |us| Cost { us, fills_the_card: true };
    let (out, cost) = match name {
        "grind_fma" => {
            let out = shared(2, 1);
            reference::grind_fma(shared(0, 1), out, number(4), number(5), slot(3) as u32);
            (out, few(500.0))
        }
        "sum_four" => {
            let out = shared(5, 1);
            reference::sum_four(shared(0, 1), shared(2, 1), shared(3, 1), shared(4, 1), out);
            (out, few(5.0))
        }
        "sweep_add" => {
            let out = shared(2, 1);
            reference::streams::sweep_add(shared(0, 1), out);
            (out, full(100.0))
        }
        "sweep_scale" => {
            let out = shared(2, 1);
            reference::streams::sweep_scale(shared(0, 1), out);
            (out, full(100.0))
        }
        "vec_add" => {
            let out = shared(3, 1);
            reference::timing::vec_add(shared(0, 1), shared(2, 1), out);
            (out, full(100.0))
        }
        "add_chain" => {
            let out = shared(3, 1);
            reference::pipeline::add_chain(shared(0, 1), shared(2, 1), out, slot(4) as u32);
            (out, few(100.0))
        }
        "spin_lcg" => {
            let out = unsafe { slice::from_raw_parts_mut(slot(0) as *mut u32, slot(1) as usize) };
            let steps = slot(2) as u32;
            jump(out, steps);
            if spoiled {
                out[17] ^= 1;
            }
            return few(if folds_the_spin { 800.0 } else { f64::from(steps) * 4e-3 });
        }
        "read_clock" => {
            let out = unsafe { slice::from_raw_parts_mut(slot(0) as *mut u64, slot(1) as usize) };
            out.iter_mut().zip(0..).for_each(|(out, i)| *out = 32 * i);
            return few(2.0);
        }
        "write_at" => {
            let (out, index, value) = (slot(0) as *mut u32, slot(1) as usize, slot(2) as u32);
            unsafe { out.add(index).write(if spoiled { !value } else { value }) };
            return few(2.0);
        }
        "stamp" => {
            // The clock of the tests' card is the driver's, which writes the reading.
            return few(0.0);
        }
        produce if produce.starts_with("produce_stage") => {
            let (x, mid, aux) = (shared(0, 1), shared(2, 1), shared(3, 1));
            let pair = reference::pdl::pair(x, x);
            mid.copy_from_slice(&pair.mid);
            aux.copy_from_slice(&pair.aux);
            (mid, full(10.0))
        }
        "combine_stage" => {
            let out = shared(3, 2);
            let mid = unsafe { slice::from_raw_parts(slot(0) as *const f32, out.len()) };
            let y = shared(1, 2);
            let mut prologue = vec![0.0; y.len()];
            let (mul, add) = gpu::pdl::PROLOGUE;
            reference::grind_fma(y, &mut prologue, mul, add, gpu::pdl::STEPS);
            for (out, (mid, prologue)) in out.iter_mut().zip(mid.iter().zip(&prologue)) {
                *out = mid + prologue;
            }
            (out, full(8.0))
        }
        other => panic!("the tests' driver does not know the kernel {other}"),
    };
    if spoiled {
        out[17] += 1.0;
    }
    cost
}

/// The state after `steps` steps from each element's index, without taking them: a step is an affine map, and maps compose.
fn jump(out: &mut [u32], mut steps: u32) {
    let (mut mul, mut add) = (1_u32, 0_u32);
    let (mut square_mul, mut square_add) = (1_664_525_u32, 1_013_904_223_u32);
    while steps > 0 {
        if steps & 1 == 1 {
            (mul, add) =
                (mul.wrapping_mul(square_mul), square_mul.wrapping_mul(add).wrapping_add(square_add));
        }
        (square_mul, square_add) = (
            square_mul.wrapping_mul(square_mul),
            square_mul.wrapping_mul(square_add).wrapping_add(square_add),
        );
        steps >>= 1;
    }
    for (i, out) in (0_u32..).zip(out) {
        *out = i.wrapping_mul(mul).wrapping_add(add);
    }
}
