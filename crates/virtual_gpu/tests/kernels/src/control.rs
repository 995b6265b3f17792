//! Branches, loops and calls.

use cuda_std::{kernel, thread};

/// Steps of the Collatz sequence until 1: every thread has its own number of trips.
#[kernel]
pub fn collatz(start: &[u32], out: &mut [u32]) {
    for i in thread::grid_stride(start.len()) {
        let (mut n, mut steps) = (start[i] as u64, 0);
        while n > 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        out[i] = steps;
    }
}

/// A `match` on data with a result for each arm.
#[kernel]
pub fn classify(text: &[u8], out: &mut [u32]) {
    let i = thread::index_1d();
    if i >= text.len() {
        return;
    }
    out[i] = match text[i] {
        b'0'..=b'9' => 10 + (text[i] - b'0') as u32,
        b'a' | b'e' | b'i' | b'o' | b'u' => 1,
        b'b' => text.len() as u32,
        b'c' => 3 * text[i] as u32,
        b'd' => i as u32,
        b'f' => !text[i] as u32,
        b'g' => (i as u32).wrapping_mul(2_654_435_761),
        b'h' => 8,
        b'j' => out[i] + 1,
        b'\n' | b'\t' | b' ' => 100,
        other if other.is_ascii_punctuation() => 200,
        _ => 0,
    };
}

/// What a calculator remembers.
#[derive(Clone, Copy)]
pub struct Account {
    balance: i64,
    rate: f32,
    operations: u16,
    open: bool,
}

#[inline(never)]
fn deposit(account: Account, amount: i64) -> Account {
    if !account.open {
        return account;
    }
    Account { balance: account.balance + amount, operations: account.operations + 1, ..account }
}

#[inline(never)]
fn interest(account: &mut Account) {
    account.balance += (account.balance as f32 * account.rate) as i64;
    account.operations += 1;
    account.open = account.balance > -1000;
}

/// Structs by value and by reference, through functions that are not inlined.
#[kernel]
pub fn accounts(amounts: &[i64], out: &mut [i64]) {
    let i = thread::index_1d();
    if i >= out.len() {
        return;
    }
    let mut account = Account { balance: i as i64, rate: 0.03, operations: 0, open: true };
    for amount in amounts {
        account = deposit(account, *amount * (i as i64 - 20));
        interest(&mut account);
    }
    out[i] = account.balance * 1000 + account.operations as i64;
}

#[inline(never)]
fn ackermann(m: u32, n: u32) -> u32 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

/// A function that calls itself, to a depth that differs from thread to thread.
#[kernel]
pub fn recursion(m: &[u32], n: &[u32], out: &mut [u32]) {
    let i = thread::index_1d();
    if i < out.len() {
        out[i] = ackermann(m[i], n[i]);
    }
}

fn double(x: i32) -> i32 {
    x.wrapping_mul(2)
}
fn square(x: i32) -> i32 {
    x.wrapping_mul(x)
}
fn negate(x: i32) -> i32 {
    x.wrapping_neg()
}

trait Shape {
    fn area(&self) -> f32;
}
struct Square(f32);
struct Rectangle(f32, f32);
impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}
impl Shape for Rectangle {
    fn area(&self) -> f32 {
        self.0 * self.1
    }
}

/// Calls through a table of functions and through a trait object.
#[kernel]
pub fn function_pointers(choice: &[u8], values: &[i32], out: &mut [i32]) {
    static TABLE: [fn(i32) -> i32; 3] = [double, square, negate];
    let i = thread::index_1d();
    if i >= out.len() {
        return;
    }
    let chosen = TABLE[choice[i] as usize % 3];
    let (square, rectangle) = (Square(values[i] as f32), Rectangle(values[i] as f32, 0.5));
    let shape: &dyn Shape = if choice[i] & 4 == 0 { &square } else { &rectangle };
    out[i] = chosen(values[i]) ^ shape.area() as i32;
}

/// The escape time of each point of the Mandelbrot set's neighbourhood, on a grid of two dimensions.
#[kernel]
pub fn mandelbrot(width: u32, height: u32, limit: u32, out: &mut [u32]) {
    let (block, index) = (thread::block(), thread::index());
    let x = block.index.x * block.dim.x + index.x;
    let y = block.index.y * block.dim.y + index.y;
    if x >= width || y >= height {
        return;
    }
    let (re, im) = (x as f32 / width as f32 * 3.0 - 2.0, y as f32 / height as f32 * 2.0 - 1.0);
    let (mut a, mut b, mut n) = (0.0_f32, 0.0_f32, 0);
    while a * a + b * b <= 4.0 && n < limit {
        (a, b) = (a * a - b * b + re, 2.0 * a * b + im);
        n += 1;
    }
    out[(y * width + x) as usize] = n;
}
