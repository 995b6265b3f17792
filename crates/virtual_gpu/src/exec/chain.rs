//! The same operation many times over, each result an operand of the next: what a kernel does that is all arithmetic.
//!
//! The link stays in the processor's registers from the first step to the last. A NaN stays a NaN through a chain of
//! floating-point steps, whatever its bits, so it is made the canonical one at the end only.

use multiversion::{multiversion, target::match_target};
use ptx::op::{Alu, FloatOp, FloatType, IntOp};

use super::alu;
use super::lanes::{Lane, Operand, Rows, WARP};

/// Runs a chain of `count` steps; the operand `through` is the link.
pub(super) fn run(op: Alu, rows: &mut Rows<'_>, through: usize, count: u32) {
    let all = |k: usize| match rows.from[k] {
        Operand::All(bits) => Some(bits as u32),
        Operand::Row(_) => None,
    };
    // `a * x + b` with `a` and `b` the same in all lanes; in which order `a` and `x` stand makes no difference.
    if let (true, Some(a), Some(b)) = (through < 2, all(1 - through.min(1)), all(2)) {
        let link = rows.from[through];
        match op {
            Alu::Float(FloatOp::MulAdd, FloatType::F32) => {
                return singles(rows, link, f32::from_bits(a), f32::from_bits(b), count);
            }
            Alu::Int(IntOp::MulAdd, _) => return words(rows, link, a, b, count),
            _ => {}
        }
    }
    // One after the other: the first reads the link where it begins, the others where the result goes. Lanes that are
    // not written take no part, so their link is whatever it is.
    alu::vector(op, rows);
    rows.from[through] = Operand::Row(rows.to);
    (1..count).for_each(|_| alu::vector(op, rows));
}

/// Applies a function of many lanes to all warps, as many at a time as a tile has.
#[inline(always)]
fn tiles<T: Lane<Raw = u32>, const WARPS: usize>(
    rows: &mut Rows<'_>,
    link: Operand,
    compute: impl Fn([[T; WARP]; WARPS]) -> [[T; WARP]; WARPS],
) {
    let (file, masks) = (&mut rows.registers.words, rows.masks);
    for first in (0..masks.len()).step_by(WARPS) {
        let here = &masks[first..masks.len().min(first + WARPS)];
        if here.iter().all(|mask| *mask == 0) {
            continue;
        }
        let mut tile = [[T::of_bits(0); WARP]; WARPS];
        for (k, lanes) in tile.iter_mut().enumerate().take(here.len()) {
            let chunk = match link {
                Operand::Row(at) => file[at + first + k].0,
                Operand::All(bits) => [bits as u32; WARP],
            };
            *lanes = chunk.map(T::get);
        }
        let tile = compute(tile);
        for (k, (lanes, &mask)) in tile.iter().zip(here).enumerate() {
            let chunk = &mut file[rows.to + first + k].0;
            for (lane, (to, value)) in chunk.iter_mut().zip(lanes).enumerate() {
                *to = if mask & 1 << lane != 0 { value.put() } else { *to };
            }
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn singles(rows: &mut Rows<'_>, link: Operand, a: f32, b: f32, count: u32) {
    // A result takes about 4 cycles and a core starts two vectors a cycle: 8 vectors have to be under way.
    match_target! {
        "x86_64+avx512f" => tiles::<f32, 4>(rows, link, |tile| single_steps(tile, a, b, count)),
        "x86_64+fma" => tiles::<f32, 2>(rows, link, |tile| single_steps(tile, a, b, count)),
        "aarch64+neon" => tiles::<f32, 2>(rows, link, |tile| single_steps(tile, a, b, count)),
        _ => tiles::<f32, 1>(rows, link, |tile| single_steps(tile, a, b, count)),
    }
}

#[inline(always)]
fn single_steps<const N: usize>(mut tile: [[f32; WARP]; N], a: f32, b: f32, count: u32) -> [[f32; WARP]; N] {
    for _ in 0..count {
        for lanes in &mut tile {
            for x in lanes {
                *x = a.mul_add(*x, b);
            }
        }
    }
    tile
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn words(rows: &mut Rows<'_>, link: Operand, a: u32, b: u32, count: u32) {
    tiles::<u32, 2>(rows, link, |mut tile| {
        for _ in 0..count {
            for lanes in &mut tile {
                for x in lanes {
                    *x = x.wrapping_mul(a).wrapping_add(b);
                }
            }
        }
        tile
    });
}
