//! The same operation many times over, each result an operand of the next: what a kernel does that is all arithmetic.
//!
//! The link stays in the processor's registers from the first step to the last. A NaN stays a NaN through a chain of
//! floating-point steps, whatever its bits, so it is made the canonical one at the end only.

use std::cell::Cell;

use multiversion::{multiversion, target::match_target};

use super::alu;
use super::lanes::{Chunk, Lane, Operand, Rows, WARP};
use crate::ptx::op::{Alu, FloatOp, FloatType, IntOp};

/// Runs a chain of `count` steps; the operand `through` is the link.
pub(super) fn run(op: Alu, rows: Rows<'_>, through: usize, count: u32) {
    let all = |k: usize| match rows.from[k] {
        Operand::All(bits) => Some(bits as u32),
        Operand::Row(_) => None,
    };
    match op {
        // `a * x + b` with `a` and `b` the same in all lanes: the multiplication's order does not matter.
        Alu::Float(FloatOp::MulAdd, FloatType::F32) if through < 2 => {
            if let (Some(a), Some(b)) = (all(1 - through), all(2)) {
                return singles(rows, rows.from[through], f32::from_bits(a), f32::from_bits(b), count);
            }
        }
        Alu::Int(IntOp::MulAdd, _) if through < 2 => {
            if let (Some(a), Some(b)) = (all(1 - through), all(2)) {
                return words(rows, rows.from[through], a, b, count);
            }
        }
        _ => {}
    }
    // One after the other; the first reads the link where it begins, the others where the result goes. Lanes that are
    // not written take no part, so their link is whatever it is.
    alu::vector(op, rows);
    let mut next = rows;
    next.from[through] = Operand::Row(rows.to);
    (1..count).for_each(|_| alu::vector(op, next));
}

/// Applies a function of many lanes to all warps, as many at a time as a tile has.
#[inline(always)]
fn tiles<T: Lane<Chunk = Chunk<u32>>, const WARPS: usize>(
    rows: Rows<'_>,
    link: Operand,
    compute: impl Fn([[T; WARP]; WARPS]) -> [[T; WARP]; WARPS],
) {
    let file: &[Cell<Chunk<u32>>] = rows.words;
    let warps = rows.masks.len();
    let read = |warp: usize| match link {
        Operand::Row(at) if warp < warps => file[at + warp].get(),
        Operand::Row(_) => Chunk([0; WARP]),
        Operand::All(bits) => Chunk([bits as u32; WARP]),
    };
    for first in (0..warps).step_by(WARPS) {
        if rows.masks[first..warps.min(first + WARPS)].iter().all(|mask| *mask == 0) {
            continue;
        }
        let mut tile = [[T::of_bits(0); WARP]; WARPS];
        for (k, lanes) in tile.iter_mut().enumerate() {
            let chunk = read(first + k);
            for (lane, value) in lanes.iter_mut().enumerate() {
                *value = T::at(&chunk, lane);
            }
        }
        let tile = compute(tile);
        for (k, lanes) in tile.iter().enumerate() {
            let Some(&mask) = rows.masks.get(first + k) else { break };
            let mut results = T::results();
            for (lane, value) in lanes.iter().enumerate() {
                T::put(&mut results, lane, *value);
            }
            let chunk = T::chunk(results);
            let to = &file[rows.to + first + k];
            to.set(if mask == u32::MAX { chunk } else { T::blend(to.get(), chunk, mask) });
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn singles(rows: Rows<'_>, link: Operand, a: f32, b: f32, count: u32) {
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
fn words(rows: Rows<'_>, link: Operand, a: u32, b: u32, count: u32) {
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
