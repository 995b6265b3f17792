//! How many instructions of a lane the virtual card executes in a second, beside native loops that do the same
//! arithmetic: `cargo bench -p virtual_gpu --bench throughput`. Best of a few runs: ask for ratios, the machine is shared.
//! Under `cargo test` everything runs once, and small.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use multiversion::multiversion;
use ptx::Module;
use support::{Argument, Bytes, Card, KERNELS};
use virtual_gpu::card::H200;
use virtual_gpu::clock::{Schedule, StreamKind};
use virtual_gpu::machine::{KernelLaunch, Machine};

const A: f32 = 0.999;
const B: f32 = 0.25;

/// How much is done: all of it, or as little as shows that it works.
struct Size {
    elements: usize,
    iterations: u32,
    runs: usize,
}

fn main() {
    let size = if std::env::args().any(|argument| argument == "--bench") {
        Size { elements: 1 << 20, iterations: 512, runs: 7 }
    } else {
        Size { elements: 1 << 12, iterations: 64, runs: 1 }
    };
    let lab = support::compile("../../gpu", "sm_90");
    println!("grind_fma, {} elements x {} steps, 8 blocks of 256 threads", size.elements, size.iterations);
    let steps = size.elements as f64 * f64::from(size.iterations);
    let mut data = vec![0.5_f32; size.elements];
    let floor = best(size.runs, || native_simd(&mut data, size.iterations));
    report("  floor: native, vector units, one thread", steps, floor);
    let both = best(size.runs, || {
        let (left, right) = data.split_at_mut(size.elements / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| native_simd(left, size.iterations));
            native_simd(right, size.iterations);
        });
    });
    report("  floor: native, vector units, two threads", steps, both);
    let scalar = best(size.runs.min(2), || native_scalar(&mut data, size.iterations));
    report("  native, one element after the other", steps, scalar);
    for (name, threads) in [("one thread", 1), ("two threads", 2)] {
        let time = with_clock(&lab, &size, threads);
        report(&format!("  with the clock, {name}, {:.1} floors", ratio(time, floor)), steps, time);
    }
    let mut card = Card::new(&lab);
    let input = card.upload(&vec![0.5_f32; size.elements]);
    let out = card.upload(&vec![0.0_f32; size.elements]);
    let (iterations, a, b) = (size.iterations.argument(), A.argument(), B.argument());
    let time = best(size.runs, || {
        let arguments = [&input, &out.address(), &iterations, &a, &b];
        card.run("grind_fma", [8, 1, 1], [256, 1, 1], &arguments).expect("the kernel runs");
    });
    report(&format!("  without the clock, one thread, {:.1} floors", ratio(time, floor)), steps, time);
    others(&lab, &size);
}

/// Kernels of other shapes, without the clock. What is counted is elements, or steps of an element.
fn others(lab: &str, size: &Size) {
    let n = size.elements;
    println!("other kernels, one thread, without the clock");
    let mut card = Card::new(lab);
    let inputs: Vec<Argument> = (0..4).map(|k| card.upload(&vec![k as f32; n])).collect();
    let sum = card.upload(&vec![0.0_f32; n]);
    let others: Vec<Argument> = inputs[1..].iter().chain([&sum]).map(Argument::address).collect();
    let arguments: Vec<&Argument> = inputs[..1].iter().chain(&others).collect();
    let grid = [n.div_ceil(256) as u32, 1, 1];
    let time =
        best(size.runs, || card.run("sum_four", grid, [256, 1, 1], &arguments).expect("the kernel runs"));
    report("  sum_four, elements", n as f64, time);

    let (out, steps) = (card.upload(&[0_u32; 1024]), (n as u32 / 16).argument());
    let time = best(size.runs, || {
        card.run("spin_lcg", [8, 1, 1], [128, 1, 1], &[&out, &steps]).expect("the kernel runs");
    });
    report("  spin_lcg, steps of a lane", n as f64 / 16.0 * 1024.0, time);

    let (input, out) = (card.upload(&vec![1.0_f32; 8 * n]), card.upload(&vec![0.0_f32; 8 * n]));
    let time = best(size.runs, || {
        card.run("sweep_add", [264, 1, 1], [256, 1, 1], &[&input, &out.address()]).expect("the kernel runs");
    });
    report("  sweep_add, elements", 8.0 * n as f64, time);

    let mut card = Card::new(&KERNELS);
    let start: Vec<u32> = (0..n as u32 / 16).collect();
    let trips: u64 = start.iter().map(|&start| collatz(start)).sum();
    let (start, out) = (card.upload(&start), card.upload(&vec![0_u32; n / 16]));
    let time = best(size.runs, || {
        card.run("collatz", [16, 1, 1], [256, 1, 1], &[&start, &out]).expect("the kernel runs");
    });
    report("  collatz, trips of the loop", trips as f64, time);

    let side = if size.runs > 1 { 256_usize } else { 32 };
    let (a, b) = (card.upload(&vec![0.5_f32; side * side]), card.upload(&vec![0.25_f32; side * side]));
    let (out, rows) = (card.upload(&vec![0.0_f32; side * side]), side.argument());
    let blocks = side.div_ceil(16) as u32;
    let time = best(size.runs, || {
        let arguments = [&rows, &a, &b, &out];
        card.run("matrix_multiply", [blocks, blocks, 1], [16, 16, 1], &arguments).expect("the kernel runs");
    });
    report("  matrix_multiply, multiply-adds", (side * side * side) as f64, time);

    let (input, out) = (card.upload(&vec![0.5_f32; n]), card.upload(&vec![0.0_f32; n.div_ceil(256)]));
    let time = best(size.runs, || {
        card.run("block_sum", grid, [256, 1, 1], &[&input, &out]).expect("the kernel runs");
    });
    report("  block_sum, elements", n as f64, time);

    let text = &*KERNELS;
    let time = best(size.runs, || drop(black_box(Module::parse(text))));
    let lines = text.lines().count();
    println!("  the reader: {lines} lines in {:.2} ms", time.as_secs_f64() * 1e3);
}

/// The kernel on the virtual H200, its clock running, so many threads of the host at work.
fn with_clock(ptx: &str, size: &Size, threads: usize) -> Duration {
    let mut machine = Machine::new(H200, Schedule::Card, threads);
    let program = machine.load(Module::parse(ptx).expect("the lab's PTX")).expect("it fits");
    let kernel = program.kernel("grind_fma").expect("the lab's kernel");
    let stream = machine.add_stream(0, StreamKind::NonBlocking);
    let bytes = 4 * size.elements as u64;
    let (input, out) = (
        machine.memory().allocate(bytes, None).expect("it fits"),
        machine.memory().allocate(bytes, None).expect("it fits"),
    );
    let values = [
        input.to_bytes(),
        (size.elements as u64).to_bytes(),
        out.to_bytes(),
        size.iterations.to_bytes(),
        A.to_bytes(),
        B.to_bytes(),
    ];
    let mut arguments = Vec::new();
    for ((offset, _), value) in kernel.parameters().zip(values) {
        arguments.resize(offset as usize, 0);
        arguments.extend(value);
    }
    let mut now = 0;
    best(size.runs, || {
        let launch = KernelLaunch {
            grid: [8, 1, 1],
            block: [256, 1, 1],
            shared_bytes: 0,
            arguments: arguments.clone(),
            priority: 0,
            early: false,
        };
        let kernel = machine.launch(stream, now, &[], &kernel, launch).expect("a right launch");
        now = machine.finish(now, kernel).expect("it ends");
    })
}

#[multiversion(targets("x86_64+avx512f+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn native_simd(data: &mut [f32], iterations: u32) {
    for chunk in data.chunks_exact_mut(128) {
        let mut block = [0.0_f32; 128];
        block.copy_from_slice(chunk);
        for _ in 0..iterations {
            for x in &mut block {
                *x = A.mul_add(*x, B);
            }
        }
        chunk.copy_from_slice(&block);
    }
}

#[multiversion(targets("x86_64+fma", "aarch64+neon"))]
fn native_scalar(data: &mut [f32], iterations: u32) {
    for value in data {
        let mut x = *value;
        for _ in 0..iterations {
            x = black_box(A).mul_add(x, B);
        }
        *value = x;
    }
}

fn collatz(start: u32) -> u64 {
    let (mut n, mut steps) = (u64::from(start), 0);
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn best(runs: usize, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

fn ratio(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64()
}

fn report(name: &str, count: f64, time: Duration) {
    let rate = count / time.as_secs_f64() / 1e9;
    println!("{name}: {:.2} ms, {rate:.2} G/s", time.as_secs_f64() * 1e3);
}
