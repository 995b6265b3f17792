//! The lab's own kernels, for both architectures: every one is read and decoded, and gives the bits of
//! native Rust.

mod support;

use std::sync::LazyLock;

use ptx::{Module, Touches};
use support::{Argument, Bytes, Card, Dice, compile};
use virtual_gpu::exec::{Image, Program};
use virtual_gpu::memory::Memory;

static LAB: LazyLock<String> = LazyLock::new(|| compile("../../gpu", "sm_90"));

fn floats(dice: &mut Dice, n: usize) -> Vec<f32> {
    dice.many(n, |roll| (roll >> 40) as f32 / 1e5)
}

fn chain(mut x: f32, a: f32, b: f32, steps: u32) -> f32 {
    for _ in 0..steps {
        x = a.mul_add(x, b);
    }
    x
}

#[test]
fn every_kernel_is_decoded_for_both_architectures() {
    for ptx in [&compile("../../gpu", "sm_75"), &*LAB] {
        let mut memory = Memory::new(1 << 20);
        let image = Image::load(Module::parse(ptx).unwrap(), &mut memory).unwrap();
        let kernels: Vec<&str> =
            image.module().functions.iter().filter(|f| f.entry).map(|f| f.name.as_str()).collect();
        for name in ["grind_fma", "sum_four", "spin_lcg", "sweep_add", "sweep_scale"] {
            assert!(kernels.contains(&name), "{kernels:?}");
        }
        for name in kernels {
            let program = Program::new(&image, image.kernel(name).unwrap(), &support::costs()).unwrap();
            // Not what a card's compiler would find, but the kernels are small.
            assert!((8..64).contains(&program.registers()), "{name}: {}", program.registers());
        }
    }
}

#[test]
fn the_diamond() {
    let (mut card, mut dice, n) = (Card::new(&LAB), Dice(21), 3001);
    let input = floats(&mut dice, n);
    let buffer = card.upload(&input);
    let grind = |card: &mut Card, from: &Argument, b: f32| {
        let out = card.upload(&vec![0.0_f32; n]);
        let arguments = [from, &out.address(), &200_u32.argument(), &0.999_f32.argument(), &b.argument()];
        card.run("grind_fma", [3, 1, 1], [256, 1, 1], &arguments).unwrap();
        out
    };
    let mid = grind(&mut card, &buffer, 1.0);
    let branches: Vec<Argument> =
        [0.125, 0.25, 0.5, 1.0].iter().map(|&b| grind(&mut card, &mid, b)).collect();
    let sum = card.upload(&vec![0.0_f32; n]);
    let others: Vec<Argument> = branches[1..].iter().chain([&sum]).map(Argument::address).collect();
    let arguments: Vec<&Argument> = branches[..1].iter().chain(&others).collect();
    card.run("sum_four", [n.div_ceil(256) as u32, 1, 1], [256, 1, 1], &arguments).unwrap();
    let want = |x: &f32| {
        let mid = chain(*x, 0.999, 1.0, 200);
        let [a, b, c, d] = [0.125, 0.25, 0.5, 1.0].map(|b| chain(mid, 0.999, b, 200));
        a + b + c + d
    };
    let got: Vec<u32> = card.download::<f32>(&sum).into_iter().map(f32::to_bits).collect();
    assert_eq!(got, input.iter().map(|x| want(x).to_bits()).collect::<Vec<_>>());
}

#[test]
fn the_streams_lesson() {
    let (mut card, mut dice) = (Card::new(&LAB), Dice(22));
    let out = card.upload(&[0_u32; 100]);
    card.run("spin_lcg", [2, 1, 1], [64, 1, 1], &[&out, &1003_u32.argument()]).unwrap();
    let want = |i: u32| (0..1003).fold(i, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    assert_eq!(card.download::<u32>(&out), (0..100).map(want).collect::<Vec<_>>());
    // Lengths that are and are not a multiple of the sweep's width.
    for n in [1, 4, 5, 1000, 1003] {
        let input = floats(&mut dice, n);
        let (buffer, out) = (card.upload(&input), card.upload(&vec![0.0_f32; n]));
        card.run("sweep_add", [3, 1, 1], [96, 1, 1], &[&buffer, &out.address()]).unwrap();
        assert_eq!(card.download::<f32>(&out), input.iter().map(|x| x + 1.0).collect::<Vec<_>>());
        card.run("sweep_scale", [3, 1, 1], [96, 1, 1], &[&buffer, &out.address()]).unwrap();
        assert_eq!(card.download::<f32>(&out), input.iter().map(|x| x * 2.0).collect::<Vec<_>>());
    }
}

#[test]
fn the_pdl_lesson() {
    let (mut card, mut dice, n) = (Card::new(&LAB), Dice(23), 777);
    let (x, y) = (floats(&mut dice, n), floats(&mut dice, n));
    let (x_buffer, y_buffer) = (card.upload(&x), card.upload(&y));
    let buffer = |card: &mut Card| card.upload(&vec![0.0_f32; n]);
    let (mid, aux, out) = (buffer(&mut card), buffer(&mut card), buffer(&mut card));
    let grid = [n.div_ceil(256) as u32, 1, 1];
    let arguments = [&x_buffer, &mid.address(), &aux.address()];
    card.run("produce_stage", grid, [256, 1, 1], &arguments).unwrap();
    card.run("combine_stage", grid, [256, 1, 1], &[&mid.address(), &y_buffer, &out.address()]).unwrap();
    let want = |(x, y): (&f32, &f32)| chain(*x, 0.999, 0.25, 256) + chain(*y, 0.998, 0.5, 256);
    assert_eq!(card.download::<f32>(&out), x.iter().zip(&y).map(want).collect::<Vec<_>>());
    let want = x.iter().map(|x| chain(*x, 0.997, 0.125, 256));
    assert_eq!(card.download::<f32>(&aux), want.collect::<Vec<_>>());
}

/// Parameters: the first slice is an address and the length, every further slice or pointer an address.
#[test]
fn of_the_kernels_only_the_secondary_waits_and_of_its_buffers_only_its_own_input_is_read_before() {
    let lab = Module::parse(&LAB).unwrap();
    // Whether it waits, and the parameters whose memory it reads and writes before.
    let of = |kernel| {
        let dependence = lab.dependence(kernel).unwrap();
        let places = |of: fn(&Touches) -> bool| -> Vec<usize> {
            (0..).zip(&dependence.before_wait).filter(|(_, touches)| of(touches)).map(|(k, _)| k).collect()
        };
        (dependence.waits, places(|touches| touches.reads), places(|touches| touches.writes))
    };
    // `mid`, `y` with the length, `out`.
    assert_eq!(of("combine_stage"), (true, vec![1], vec![]));
    for kernel in ["produce_stage", "produce_stage_early", "produce_stage_late", "produce_stage_never"] {
        // `x` with the length, `mid`, `aux`.
        assert_eq!(of(kernel), (false, vec![0], vec![2, 3]), "{kernel}");
    }
    assert_eq!(of("grind_fma"), (false, vec![0], vec![2]));
    assert_eq!(of("sum_four"), (false, vec![0, 2, 3, 4], vec![5]));
    let (waits, _, writes) = of("spin_lcg");
    assert!(!waits && writes.contains(&0), "{writes:?}");
}
