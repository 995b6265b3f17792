//! The learner's kernels with branches, calls, shared memory and atomics: compiled by `cuda_builder`, run on the virtual
//! card, and compared bit by bit with native Rust.

mod support;

use support::learner::*;
use support::{Bytes, Dice};

#[test]
fn collatz() {
    let mut card = card();
    let start: Vec<u32> = (0..3000).map(|i| i * 7).collect();
    let (buffer, out) = (card.upload(&start), card.upload(&vec![0_u32; 3000]));
    card.run("collatz", [5, 1, 1], BLOCK, &[&buffer, &out]).unwrap();
    let steps = |start: u32| {
        let (mut n, mut steps) = (start as u64, 0);
        while n > 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    assert_eq!(card.download::<u32>(&out), start.into_iter().map(steps).collect::<Vec<u32>>());
}

#[test]
fn classify() {
    let mut card = card();
    let text: Vec<u8> = (0..=255).chain(*b"The quick brown fox jumps over 13 lazy dogs\t...\n").collect();
    let before: Vec<u32> = (0..text.len() as u32).collect();
    let (buffer, out) = (card.upload(&text), card.upload(&before));
    card.run("classify", grid(text.len()), BLOCK, &[&buffer, &out]).unwrap();
    let want = |(i, &byte): (usize, &u8)| match byte {
        b'0'..=b'9' => 10 + (byte - b'0') as u32,
        b'a' | b'e' | b'i' | b'o' | b'u' => 1,
        b'b' => text.len() as u32,
        b'c' => 3 * byte as u32,
        b'd' => i as u32,
        b'f' => !byte as u32,
        b'g' => (i as u32).wrapping_mul(2_654_435_761),
        b'h' => 8,
        b'j' => before[i] + 1,
        b'\n' | b'\t' | b' ' => 100,
        other if other.is_ascii_punctuation() => 200,
        _ => 0,
    };
    assert_eq!(card.download::<u32>(&out), text.iter().enumerate().map(want).collect::<Vec<_>>());
}

#[test]
fn accounts() {
    let (mut card, n) = (card(), 200);
    let amounts: Vec<i64> = (0..20).map(|k| (k * 37 % 50) - 20).collect();
    let (buffer, out) = (card.upload(&amounts), card.upload(&vec![0_i64; n]));
    card.run("accounts", grid(n), BLOCK, &[&buffer, &out]).unwrap();
    let want = |i: usize| {
        let (mut balance, mut operations, mut open) = (i as i64, 0, true);
        for amount in &amounts {
            if open {
                balance += amount * (i as i64 - 20);
                operations += 1;
            }
            balance += (balance as f32 * 0.03) as i64;
            operations += 1;
            open = balance > -1000;
        }
        balance * 1000 + operations
    };
    assert_eq!(card.download::<i64>(&out), (0..n).map(want).collect::<Vec<_>>());
}

#[test]
fn recursion() {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let mut card = card();
    let (m, n): (Vec<u32>, Vec<u32>) = (0..60).map(|i| (i % 3, i / 3 % 5)).unzip();
    let (m_buffer, n_buffer, out) = (card.upload(&m), card.upload(&n), card.upload(&vec![0_u32; m.len()]));
    card.run("recursion", grid(m.len()), BLOCK, &[&m_buffer, &n_buffer, &out]).unwrap();
    let want: Vec<u32> = m.iter().zip(&n).map(|(&m, &n)| ackermann(m, n)).collect();
    assert_eq!(card.download::<u32>(&out), want);
}

#[test]
fn function_pointers() {
    let (mut card, mut dice, n) = (card(), Dice(9), 500);
    let (choice, values) =
        (dice.many(n, |roll| (roll >> 9) as u8), dice.many(n, |roll| (roll >> 9) as i32 % 10_000));
    let (choice_buffer, values_buffer, out) =
        (card.upload(&choice), card.upload(&values), card.upload(&vec![0_i32; n]));
    card.run("function_pointers", grid(n), BLOCK, &[&choice_buffer, &values_buffer, &out]).unwrap();
    let want = |i: usize| {
        let x = values[i];
        let chosen = [x.wrapping_mul(2), x.wrapping_mul(x), x.wrapping_neg()][choice[i] as usize % 3];
        let area = if choice[i] & 4 == 0 { x as f32 * x as f32 } else { x as f32 * 0.5 };
        chosen ^ area as i32
    };
    assert_eq!(card.download::<i32>(&out), (0..n).map(want).collect::<Vec<_>>());
}

#[test]
fn mandelbrot() {
    let (mut card, width, height) = (card(), 70_u32, 50_u32);
    let out = card.upload(&vec![0_u32; (width * height) as usize]);
    let arguments = [width.argument(), height.argument(), 200_u32.argument()];
    let [w, h, limit] = &arguments;
    card.run("mandelbrot", [5, 7, 1], [16, 8, 1], &[w, h, limit, &out]).unwrap();
    let want = |at: u32| {
        let (x, y) = (at % width, at / width);
        let (re, im) = (x as f32 / width as f32 * 3.0 - 2.0, y as f32 / height as f32 * 2.0 - 1.0);
        let (mut a, mut b, mut n) = (0.0_f32, 0.0_f32, 0);
        while a * a + b * b <= 4.0 && n < 200 {
            (a, b) = (a * a - b * b + re, 2.0 * a * b + im);
            n += 1;
        }
        n
    };
    assert_eq!(card.download::<u32>(&out), (0..width * height).map(want).collect::<Vec<_>>());
}

#[test]
fn matrix_multiply() {
    let (mut card, mut dice, n) = (card(), Dice(10), 45_usize);
    let (a, b) =
        (dice.many(n * n, |roll| (roll >> 40) as f32 / 999.0), dice.many(n * n, |roll| (roll >> 45) as f32));
    let (a_buffer, b_buffer, out) = (card.upload(&a), card.upload(&b), card.upload(&vec![0.0_f32; n * n]));
    card.run("matrix_multiply", [3, 3, 1], [16, 16, 1], &[&n.argument(), &a_buffer, &b_buffer, &out])
        .unwrap();
    let want = |at: usize| {
        let mut sum = 0.0_f32;
        for k in 0..n {
            sum += a[at / n * n + k] * b[k * n + at % n];
        }
        sum
    };
    assert_eq!(card.download::<f32>(&out), (0..n * n).map(want).collect::<Vec<_>>());
}

#[test]
fn local_sort() {
    let (mut card, mut dice, threads) = (card(), Dice(11), 150);
    let input = dice.many(16 * threads, |roll| (roll >> 9) as i32 % 1000);
    let (buffer, out) = (card.upload(&input), card.upload(&vec![0_i32; 16 * threads]));
    card.run("local_sort", grid(threads), BLOCK, &[&buffer, &out]).unwrap();
    let mut want = Vec::new();
    for numbers in input.chunks(16) {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        want.extend((0..16).map(|k| sorted[(k + sorted[k].unsigned_abs() as usize) % 16]));
    }
    assert_eq!(card.download::<i32>(&out), want);
}

#[test]
fn vectors() {
    let (mut card, mut dice, n) = (card(), Dice(12), 300);
    let (input, pairs) =
        (dice.many(4 * n, |roll| (roll >> 40) as f32), dice.many(2 * n, |roll| (roll >> 30) as f64 / 7.0));
    let buffers = (card.upload(&input), card.upload(&pairs), card.upload(&vec![0.0_f32; 4 * n]));
    let addresses = (buffers.0.address(), buffers.1.address(), buffers.2.address());
    card.run("vectors", grid(n), BLOCK, &[&addresses.0, &addresses.1, &addresses.2, &n.argument()]).unwrap();
    let want = (0..n).flat_map(|i| {
        let ([x, y, z, w], [a, b]) =
            (std::array::from_fn(|k| input[4 * i + k]), std::array::from_fn(|k| pairs[2 * i + k] as f32));
        [w * a, z + x, y - b, x]
    });
    assert_eq!(card.download::<f32>(&buffers.2), want.collect::<Vec<_>>());
}

#[test]
fn iterators() {
    let (mut card, mut dice, n, width) = (card(), Dice(13), 400, 9_usize);
    let input = dice.many(n, |roll| (roll >> 9) as i32 % 5000);
    let (buffer, out) = (card.upload(&input), card.upload(&vec![0_i64; n]));
    card.run("iterators", grid(n), BLOCK, &[&buffer, &width.argument(), &out]).unwrap();
    let want = |i: usize| {
        let Some(window) = input.get(i..i + width) else { return 0 };
        let (head, tail) = window.split_at(width / 2);
        let products: i64 = head.iter().zip(tail.iter().rev()).map(|(&a, &b)| a as i64 * b as i64).sum();
        let largest = window.iter().copied().max().unwrap();
        let position = window.iter().position(|&x| x == largest).unwrap();
        products + position as i64 + window.chunks_exact(2).filter(|pair| pair[0] < pair[1]).count() as i64
    };
    assert_eq!(card.download::<i64>(&out), (0..n).map(want).collect::<Vec<_>>());
}

#[test]
fn gather() {
    let (mut card, mut dice, n) = (card(), Dice(14), 700);
    let (indices, input) =
        (dice.many(n, |roll| (roll % 100) as u32), dice.many(100, |roll| (roll >> 40) as f32));
    let (indices_buffer, input_buffer, out) =
        (card.upload(&indices), card.upload(&input), card.upload(&vec![0.0_f32; n]));
    card.run("gather", grid(n), BLOCK, &[&indices_buffer, &input_buffer, &out]).unwrap();
    let want = |&at: &u32| input[at as usize] + input.get(at as usize + 1).copied().unwrap_or(0.5);
    assert_eq!(card.download::<f32>(&out), indices.iter().map(want).collect::<Vec<_>>());
}

#[test]
fn block_sum() {
    let (mut card, mut dice, n) = (card(), Dice(15), 1000);
    let input = dice.many(n, |roll| (roll >> 40) as f32 / 3.0);
    let (buffer, out) = (card.upload(&input), card.upload(&[0.0_f32; 4]));
    card.run("block_sum", [4, 1, 1], [256, 1, 1], &[&buffer, &out]).unwrap();
    let want = (0..4).map(|block| {
        let mut tile: Vec<f32> =
            (0..256).map(|k| input.get(256 * block + k).copied().unwrap_or(0.0)).collect();
        let mut width = 128;
        while width > 0 {
            for k in 0..width {
                tile[k] += tile[k + width];
            }
            width /= 2;
        }
        tile[0]
    });
    assert_eq!(card.download::<f32>(&out), want.collect::<Vec<_>>());
}

#[test]
fn histogram() {
    let (mut card, mut dice) = (card(), Dice(16));
    let text = dice.many(5000, |roll| ((roll >> 9) as u8).min((roll >> 20) as u8));
    let (buffer, bins) = (card.upload(&text), card.upload(&[0_u32; 256]));
    card.run("histogram", [3, 1, 1], BLOCK, &[&buffer, &bins.address()]).unwrap();
    let mut want = [0; 256];
    text.iter().for_each(|&byte| want[byte as usize] += 1);
    assert_eq!(card.download::<u32>(&bins), want);
}

#[test]
fn atomics() {
    let (mut card, mut dice, n) = (card(), Dice(17), 1000);
    let input = dice.many(n, |roll| (roll >> 13) as i32);
    let cells = card.upload(&[i32::MIN, i32::MAX, -1, 0, 0, 0, 0, 0]);
    let (buffer, wide) = (card.upload(&input), card.upload(&[0_u64; 4]));
    card.run("atomics", grid(n), BLOCK, &[&buffer, &cells.address(), &wide.address()]).unwrap();
    let fold = |first: i32, f: fn(i32, i32) -> i32| input.iter().fold(first, |all, &x| f(all, x));
    let want = [
        fold(i32::MIN, |all, x| all.max(x)),
        fold(i32::MAX, |all, x| all.min(x)),
        fold(-1, |all, x| all & (x | 0xff)),
        fold(0, |all, x| all | x & 0xff),
        fold(0, |all, x| all ^ x),
        fold(0, i32::wrapping_sub),
        fold(0, |all, x| if (x.unsigned_abs(), x) > (all.unsigned_abs(), all) { x } else { all }),
        0,
    ];
    assert_eq!(card.download::<i32>(&cells), want);
    let want = [
        input.iter().fold(0_u64, |all, &x| all.wrapping_add(x as u64)),
        input.iter().fold(0, |all, &x| all.max(x as u32 as u64)),
        input.iter().fold(0, |all, &x| all ^ (x as u64).rotate_left(17)),
        input[0] as u64,
    ];
    assert_eq!(card.download::<u64>(&wide), want);
}

#[test]
fn warp_sum() {
    let (mut card, mut dice, n) = (card(), Dice(18), 250);
    let input = dice.many(n, |roll| (roll >> 13) as u32 >> 6);
    let (buffer, out) = (card.upload(&input), card.upload(&vec![0_u32; n]));
    card.run("warp_sum", [4, 1, 1], [64, 1, 1], &[&buffer, &out]).unwrap();
    let mut want = Vec::new();
    for warp in 0..8 {
        let mut sums: Vec<u32> = (0..32).map(|k| input.get(32 * warp + k).copied().unwrap_or(0)).collect();
        for distance in [16, 8, 4, 2, 1] {
            sums = (0..32)
                .map(|k| sums[k].wrapping_add(sums[if k + distance < 32 { k + distance } else { k }]))
                .collect();
        }
        let ballot = (0..32).fold(0_u32, |all, k| all | u32::from(sums[k] > sums[0] / 2) << k);
        want.extend([sums[0] ^ ballot; 32]);
    }
    want.truncate(n);
    assert_eq!(card.download::<u32>(&out), want);
}

#[test]
fn spin_lock() {
    let mut card = card();
    let (lock, counter) = (card.upload(&[0_u32]), card.upload(&[1_u32]));
    card.run("spin_lock", [2, 1, 1], [64, 1, 1], &[&lock.address(), &counter.address(), &3_u32.argument()])
        .unwrap();
    let want = (0..2 * 64 * 3).fold(1_u32, |count, _| count.wrapping_mul(3).wrapping_add(1));
    assert_eq!(card.download::<u32>(&counter), [want]);
}
