//! Slices, local arrays, vectors, structs in memory.

use cuda_std::{kernel, thread};

/// `out = a * b` for square matrices of `n` rows, one element for each thread of a two-dimensional grid.
#[kernel]
pub fn matrix_multiply(n: usize, a: &[f32], b: &[f32], out: &mut [f32]) {
    let (block, index) = (thread::block(), thread::index());
    let column = (block.index.x * block.dim.x + index.x) as usize;
    let row = (block.index.y * block.dim.y + index.y) as usize;
    if column >= n || row >= n {
        return;
    }
    let mut sum = 0.0;
    for k in 0..n {
        sum += a[row * n + k] * b[k * n + column];
    }
    out[row * n + column] = sum;
}

/// Sorts 16 numbers of each thread in a local array.
#[kernel]
pub fn local_sort(input: &[i32], out: &mut [i32]) {
    const N: usize = 16;
    let i = thread::index_1d();
    if (i + 1) * N > input.len() {
        return;
    }
    let mut numbers = [0; N];
    numbers.copy_from_slice(&input[i * N..(i + 1) * N]);
    for end in (1..N).rev() {
        for k in 0..end {
            if numbers[k] > numbers[k + 1] {
                numbers.swap(k, k + 1);
            }
        }
    }
    // Written by value, so that the array is indexed with what only this thread knows.
    for k in 0..N {
        let index = (k + numbers[k].unsigned_abs() as usize) % N;
        out[i * N + k] = numbers[index];
    }
}

/// Four singles that are loaded and stored together.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Float4([f32; 4]);

/// A vector's worth of each, and two doubles, and bytes in pairs.
///
/// # Safety
///
/// `input`, `pairs` and `out` have `n` elements each, and `out` overlaps neither.
#[kernel]
pub unsafe fn vectors(input: *const Float4, pairs: *const [f64; 2], out: *mut Float4, n: usize) {
    let i = thread::index_1d();
    if i >= n {
        return;
    }
    // SAFETY: the launch passes `n` elements of each.
    let (vector, pair) = unsafe { (input.add(i).read(), pairs.add(i).read()) };
    let [x, y, z, w] = vector.0;
    let result = Float4([w * pair[0] as f32, z + x, y - pair[1] as f32, x]);
    // SAFETY: as above.
    unsafe { out.add(i).write(result) };
}

/// Sums windows with iterators, as one writes Rust.
#[kernel]
pub fn iterators(input: &[i32], width: usize, out: &mut [i64]) {
    let i = thread::index_1d();
    let Some(window) = input.get(i..i + width) else { return };
    let (head, tail) = window.split_at(width / 2);
    let products: i64 = head.iter().zip(tail.iter().rev()).map(|(&a, &b)| a as i64 * b as i64).sum();
    let largest = window.iter().copied().max().unwrap_or(0);
    let position = window.iter().position(|&x| x == largest).unwrap_or(usize::MAX);
    out[i] = products + position as i64 + window.chunks_exact(2).filter(|pair| pair[0] < pair[1]).count() as i64;
}

/// Indices that come from data, each checked.
#[kernel]
pub fn gather(indices: &[u32], input: &[f32], out: &mut [f32]) {
    let i = thread::index_1d();
    if i < out.len() {
        out[i] = input[indices[i] as usize] + input.get(indices[i] as usize + 1).copied().unwrap_or(0.5);
    }
}
