//! The learner's kernels that compute with numbers: compiled by `cuda_builder`, run on the virtual card, and compared bit
//! by bit with native Rust.

mod support;

use support::learner::*;
use support::{Bytes, Dice};

#[test]
fn saxpy() {
    let (mut card, mut dice) = (card(), Dice(1));
    let (x, y) = (singles(&mut dice, 1000), singles(&mut dice, 1000));
    let (x_buffer, y_buffer) = (card.upload(&x), card.upload(&y));
    card.run("saxpy", [2, 1, 1], BLOCK, &[&1.25_f32.argument(), &x_buffer, &y_buffer]).unwrap();
    for (i, got) in card.download::<f32>(&y_buffer).into_iter().enumerate() {
        assert!(same32(got, 1.25_f32.mul_add(x[i], y[i])), "{i}");
    }
}

#[test]
fn single_functions() {
    let (mut card, mut dice, n) = (card(), Dice(2), 5000);
    let (a, b) = (singles(&mut dice, n), singles(&mut dice, n));
    let (a_buffer, b_buffer, out) = (card.upload(&a), card.upload(&b), card.upload(&vec![0.0_f32; 16 * n]));
    card.run("single_functions", grid(n), BLOCK, &[&a_buffer, &b_buffer, &out]).unwrap();
    let got = card.download::<f32>(&out);
    for i in 0..n {
        let (x, y) = (a[i], b[i]);
        let truth = |holds: bool| if holds { 1.0 } else { 0.0 };
        let want = [
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            x.abs(),
            min32(x, y),
            max32(x, y),
            x.copysign(y),
            x.clamp(-1.0, 1.0),
            truth(x < y),
            truth(x != y),
            if x >= y { x } else { y },
            truth(x.is_nan()),
            x.signum(),
            1.0 / x,
        ];
        for (k, want) in want.into_iter().enumerate() {
            let got = got[16 * i + k];
            assert!(same32(got, want), "function {k} of {x:?}, {y:?}: {got:?}, not {want:?}");
        }
    }
}

#[test]
fn double_functions() {
    let (mut card, mut dice, n) = (card(), Dice(3), 3000);
    let (a, b) = (doubles(&mut dice, n), doubles(&mut dice, n));
    let (a_buffer, b_buffer, out) = (card.upload(&a), card.upload(&b), card.upload(&vec![0.0_f64; 12 * n]));
    card.run("double_functions", grid(n), BLOCK, &[&a_buffer, &b_buffer, &out]).unwrap();
    let got = card.download::<f64>(&out);
    for i in 0..n {
        let (x, y) = (a[i], b[i]);
        let want = [
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            x.abs(),
            min64(x, y),
            max64(x, y),
            x.copysign(y),
            if x < y { 1.0 } else { 0.0 },
            if x.is_nan() || y.is_nan() { 1.0 } else { 0.0 },
            x - (x / y) as i64 as f64 * y,
        ];
        for (k, want) in want.into_iter().enumerate() {
            let got = got[12 * i + k];
            assert!(same64(got, want), "function {k} of {x:?}, {y:?}: {got:?}, not {want:?}");
        }
    }
}

#[test]
fn divisions() {
    let (mut card, mut dice, n) = (card(), Dice(4), 4000);
    let (a, b) = (integers(&mut dice, n), integers(&mut dice, n));
    let (a_buffer, b_buffer, out) = (card.upload(&a), card.upload(&b), card.upload(&vec![0_i64; 16 * n]));
    card.run("divisions", grid(n), BLOCK, &[&a_buffer, &b_buffer, &out]).unwrap();
    let got = card.download::<i64>(&out);
    for i in 0..n {
        let (x, y) = (a[i], b[i]);
        let want = [
            x.checked_div(y).unwrap_or(-1),
            x.checked_rem(y).unwrap_or(-1),
            (x as u64).checked_div(y as u64).unwrap_or(7) as i64,
            (x as u64).checked_rem(y as u64).unwrap_or(7) as i64,
            (x as i32).checked_div(y as i32).unwrap_or(-1) as i64,
            (x as i32).checked_rem(y as i32).unwrap_or(-1) as i64,
            (x as u32).checked_div(y as u32).unwrap_or(7) as i64,
            (x as u32).checked_rem(y as u32).unwrap_or(7) as i64,
            (x as i16).checked_div(y as i16).unwrap_or(-1) as i64,
            (x as u8).checked_rem(y as u8).unwrap_or(7) as i64,
            (x as u64 / 10) as i64,
            x / -7,
            x.rem_euclid(1_000_003),
            x.wrapping_mul(y),
            ((x as i128 * y as i128) >> 64) as i64,
            ((x as u64 as u128 * y as u64 as u128) >> 64) as i64,
        ];
        assert_eq!(got[16 * i..16 * i + 16], want, "of {x} and {y}");
    }
}

#[test]
fn wide_integers() {
    const PRIME: u64 = (1 << 61) - 1;
    let (mut card, mut dice, n) = (card(), Dice(5), 200);
    let (base, exponent) = (dice.many(n, |roll| roll), dice.many(n, |roll| roll >> (roll % 60)));
    let (base_buffer, exponent_buffer, out) =
        (card.upload(&base), card.upload(&exponent), card.upload(&vec![0_u64; n]));
    card.run("wide_integers", grid(n), BLOCK, &[&base_buffer, &exponent_buffer, &out]).unwrap();
    let want: Vec<u64> = (0..n)
        .map(|i| {
            let (mut square, mut left, mut power) = (base[i] % PRIME, exponent[i], 1_u64);
            while left != 0 {
                if left & 1 == 1 {
                    power = (power as u128 * square as u128 % PRIME as u128) as u64;
                }
                square = (square as u128 * square as u128 % PRIME as u128) as u64;
                left >>= 1;
            }
            let sum = (base[i] as u128) << 32 | exponent[i] as u128;
            let sum =
                sum.wrapping_mul(sum).wrapping_add(exponent[i] as u128).wrapping_sub(base[i] as u128 >> 1);
            power ^ sum as u64 ^ (sum >> 64) as u64
        })
        .collect();
    assert_eq!(card.download::<u64>(&out), want);
}

#[test]
fn bit_tricks() {
    let (mut card, mut dice, n) = (card(), Dice(6), 2000);
    let input: Vec<u64> = integers(&mut dice, n).into_iter().map(|x| x as u64).collect();
    let (buffer, out) = (card.upload(&input), card.upload(&vec![0_u64; 24 * n]));
    card.run("bit_tricks", grid(n), BLOCK, &[&buffer, &out]).unwrap();
    let got = card.download::<u64>(&out);
    for (i, &x) in input.iter().enumerate() {
        let (low, turn) = (x as u32, (x >> 58) as u32);
        let want = [
            x.count_ones() as u64,
            low.count_ones() as u64,
            x.leading_zeros() as u64,
            low.leading_zeros() as u64,
            x.trailing_zeros() as u64,
            low.trailing_zeros() as u64,
            x.reverse_bits(),
            low.reverse_bits() as u64,
            x.swap_bytes(),
            low.swap_bytes() as u64,
            x.rotate_left(turn),
            low.rotate_left(turn) as u64,
            low.rotate_right(7) as u64,
            (x as u16).swap_bytes() as u64,
            (x as u8).leading_zeros() as u64,
            x & !(x >> 3) ^ (x << 5),
            x.wrapping_shl(turn) | x.wrapping_shr(turn),
            (x as i64 >> (turn & 63)) as u64,
            ((low as i32) >> (turn & 31)) as u64,
            (x as u16).rotate_left(3) as u64,
            (x as i16 >> (turn & 15)) as u64,
            x.is_power_of_two() as u64 + x.checked_next_power_of_two().unwrap_or(3),
            low.abs_diff(turn) as u64,
            (x as i64).abs_diff(-5),
        ];
        assert_eq!(got[24 * i..24 * i + 24], want, "of {x:#x}");
    }
}

#[test]
fn conversions() {
    let (mut card, mut dice, n) = (card(), Dice(7), 3000);
    let (f, d, m) = (singles(&mut dice, n), doubles(&mut dice, n), integers(&mut dice, n));
    let buffers = (card.upload(&f), card.upload(&d), card.upload(&m), card.upload(&vec![0_u64; 28 * n]));
    card.run("conversions", grid(n), BLOCK, &[&buffers.0, &buffers.1, &buffers.2, &buffers.3]).unwrap();
    let got = card.download::<u64>(&buffers.3);
    for i in 0..n {
        let (f, d, n) = (f[i], d[i], m[i]);
        let want = [
            f as i8 as u64,
            f as u8 as u64,
            f as i16 as u64,
            f as u16 as u64,
            f as i32 as u64,
            f as u32 as u64,
            f as i64 as u64,
            f as u64,
            d as i32 as u64,
            d as u32 as u64,
            d as i64 as u64,
            d as u64,
            (d as f32).to_bits() as u64,
            (f as f64).to_bits(),
            (n as f32).to_bits() as u64,
            (n as f64).to_bits(),
            (n as u64 as f32).to_bits() as u64,
            (n as u64 as f64).to_bits(),
            (n as i32 as f32).to_bits() as u64,
            (n as u32 as f32).to_bits() as u64,
            (n as i32 as f64).to_bits(),
            (n as u8 as f32).to_bits() as u64,
            (n as i16 as f64).to_bits(),
            n as i8 as i32 as u64,
            n as u16 as i64 as u64,
            (n as i16 as u32) as u64,
            f.to_bits() as u64,
            f64::from_bits(n as u64).to_bits(),
        ];
        for (k, want) in want.into_iter().enumerate() {
            let got = got[28 * i + k];
            let nan = k == 12 && d.is_nan() && f32::from_bits(got as u32).is_nan()
                || k == 13 && f.is_nan() && f64::from_bits(got).is_nan();
            assert!(got == want || nan, "conversion {k} of {f:?}, {d:?}, {n}: {got:#x}, not {want:#x}");
        }
    }
}

#[test]
fn mixed_widths() {
    let (mut card, mut dice, n) = (card(), Dice(8), 1000);
    let (bytes, shorts) = (dice.many(n, |roll| (roll >> 9) as u8), dice.many(n, |roll| (roll >> 9) as i16));
    let buffers = (
        card.upload(&bytes),
        card.upload(&shorts),
        card.upload(&vec![0_u32; n]),
        card.upload(&vec![0_i16; n]),
    );
    card.run("mixed_widths", grid(n), BLOCK, &[&buffers.0, &buffers.1, &buffers.2, &buffers.3]).unwrap();
    let (words, sums) = (card.download::<u32>(&buffers.2), card.download::<i16>(&buffers.3));
    for i in 0..n {
        let (byte, short) = (bytes[i], shorts[i]);
        let (lighter, darker) = (byte.saturating_add(60), byte.saturating_sub(100));
        let word =
            (lighter as u32) << 24 | (darker as u32) << 16 | (short as u16 as u32).rotate_left(4) & 0xffff;
        assert_eq!(words[i], word, "{i}");
        assert_eq!(sums[i], short.saturating_add(byte as i16).wrapping_mul(3).clamp(-2000, 1000), "{i}");
    }
}
