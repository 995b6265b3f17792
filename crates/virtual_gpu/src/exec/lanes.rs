//! Rows of registers, and how a function of one lane is applied to all.
//!
//! A row holds one register of a whole block, 32 lanes (a warp) to a chunk. Predicates are one word of bits for each
//! warp. A function is applied to whole rows, from rows into a scratch row: no result lies where an operand does, and so
//! the loops are plain enough for the compiler to use the processor's vector units. What was computed is then written for
//! the lanes that are meant.

use std::cell::RefCell;
use std::ops::Range;

/// Lanes of a warp.
pub(super) const WARP: usize = 32;

/// The most lanes of a row.
const LANES: usize = 1024;

/// One warp's values of a register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk<T>(pub [T; WARP]);

/// All lanes of a chunk after the other.
fn flat<T>(chunks: &[Chunk<T>]) -> &[T] {
    const { assert!(size_of::<Chunk<u32>>() == 4 * WARP && size_of::<Chunk<u64>>() == 8 * WARP) };
    // SAFETY: a chunk is an array of `WARP` values and nothing else (asserted for the two types that are used), so the
    // chunks of a slice are that many values one after the other, borrowed for as long as the slice.
    unsafe { std::slice::from_raw_parts(chunks.as_ptr().cast(), chunks.len() * WARP) }
}

/// A block's registers, each kind in a file of its own.
#[derive(Debug, Default)]
pub(super) struct Registers {
    pub words: Vec<Chunk<u32>>,
    pub doubles: Vec<Chunk<u64>>,
    pub predicates: Vec<u32>,
}

/// One row for each kind of value.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Slot {
    words: [u32; LANES],
    doubles: [u64; LANES],
    bytes: [u8; LANES],
}

/// Rows for what is computed, and for operands that are no rows: one that is the same in all lanes, or a predicate's bits.
#[derive(Debug)]
pub(super) struct Scratch {
    operands: [Slot; 4],
    result: Slot,
}

impl Scratch {
    fn new() -> Box<Self> {
        let slot = || Slot { words: [0; LANES], doubles: [0; LANES], bytes: [0; LANES] };
        Box::new(Self { operands: [slot(), slot(), slot(), slot()], result: slot() })
    }
}

thread_local! {
    /// Each thread of the host has one: nothing stays in it from one operation to the next.
    static SCRATCH: RefCell<Box<Scratch>> = RefCell::new(Scratch::new());
}

/// An operand of a step: where its row begins in the file of its kind, or the value of all lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Row(usize),
    All(u64),
}

/// The register files as an operation sees them, with its operands and the lanes it writes.
pub(super) struct Rows<'r> {
    pub registers: &'r mut Registers,
    scratch: &'r mut Scratch,
    /// Where the result's row begins.
    pub to: usize,
    pub from: [Operand; 4],
    /// For each warp the lanes that are written.
    pub masks: &'r [u32],
}

impl Registers {
    /// Hands the files to an operation.
    pub fn with_rows<T>(
        &mut self,
        to: usize,
        from: [Operand; 4],
        masks: &[u32],
        operation: impl FnOnce(&mut Rows<'_>) -> T,
    ) -> T {
        SCRATCH.with_borrow_mut(|scratch| operation(&mut Rows { registers: self, scratch, to, from, masks }))
    }
}

/// What a lane's value is to an operation, and how it lies in a row.
pub(super) trait Lane: Copy {
    /// A lane's bits while it is worked on.
    type Raw: Copy;
    fn get(raw: Self::Raw) -> Self;
    fn put(self) -> Self::Raw;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    /// Puts an operand that is no row of values into its scratch row.
    fn prepare(registers: &Registers, slot: &mut Slot, operand: Operand, warps: Range<usize>);
    /// An operand's values.
    fn row<'a>(
        registers: &'a Registers,
        slot: &'a Slot,
        operand: Operand,
        warps: Range<usize>,
    ) -> &'a [Self::Raw];
    /// Where the result's values go.
    fn result(slot: &mut Slot) -> &mut [Self::Raw; LANES];
    /// Writes the result to the row that begins at `to`; its values begin with the first of the warps.
    fn keep(registers: &mut Registers, slot: &Slot, to: usize, masks: &[u32], warps: Range<usize>);
}

/// A type that is held in a register of 32 or 64 bits.
macro_rules! held {
    ($type:ty, $raw:ty, $file:ident, $get:expr, $put:expr) => {
        impl Lane for $type {
            type Raw = $raw;
            #[inline(always)]
            fn get(raw: $raw) -> Self {
                $get(raw)
            }
            #[inline(always)]
            fn put(self) -> $raw {
                $put(self)
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $get(bits as $raw)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from($put(self))
            }
            #[inline(always)]
            fn prepare(_: &Registers, slot: &mut Slot, operand: Operand, warps: Range<usize>) {
                if let Operand::All(bits) = operand {
                    slot.$file[..warps.len() * WARP].fill(bits as $raw);
                }
            }
            #[inline(always)]
            fn row<'a>(
                registers: &'a Registers,
                slot: &'a Slot,
                operand: Operand,
                warps: Range<usize>,
            ) -> &'a [$raw] {
                match operand {
                    Operand::Row(at) => flat(&registers.$file[at + warps.start..at + warps.end]),
                    Operand::All(_) => &slot.$file[..warps.len() * WARP],
                }
            }
            #[inline(always)]
            fn result(slot: &mut Slot) -> &mut [$raw; LANES] {
                &mut slot.$file
            }
            #[inline(always)]
            fn keep(registers: &mut Registers, slot: &Slot, to: usize, masks: &[u32], warps: Range<usize>) {
                let row = &mut registers.$file[to + warps.start..to + warps.end];
                keep_values(row, &slot.$file, &masks[warps]);
            }
        }
    };
}

/// Writes the lanes of a mask.
#[inline(never)]
fn keep_values<T: Copy>(row: &mut [Chunk<T>], result: &[T; LANES], masks: &[u32]) {
    for ((chunk, values), &mask) in row.iter_mut().zip(result.as_chunks::<WARP>().0).zip(masks) {
        if mask == u32::MAX {
            chunk.0 = *values;
        } else if mask != 0 {
            for (lane, (old, new)) in chunk.0.iter_mut().zip(values).enumerate() {
                *old = if mask & 1 << lane != 0 { *new } else { *old };
            }
        }
    }
}

/// The one NaN that arithmetic in single precision gives (PTX ISA, "Floating-Point Instructions").
pub(super) const NAN32: u32 = 0x7fff_ffff;

held!(u32, u32, words, |raw: u32| raw, |value: u32| value);
held!(i32, u32, words, |raw: u32| raw as i32, |value: i32| value as u32);
held!(u16, u32, words, |raw: u32| raw as u16, u32::from);
held!(i16, u32, words, |raw: u32| raw as u16 as i16, |value: i16| u32::from(value as u16));
held!(f32, u32, words, f32::from_bits, |value: f32| if value.is_nan() { NAN32 } else { value.to_bits() });
held!(u64, u64, doubles, |raw: u64| raw, |value: u64| value);
held!(i64, u64, doubles, |raw: u64| raw as i64, |value: i64| value as u64);
// In double precision a NaN keeps what it carries: the operations see to it.
held!(f64, u64, doubles, f64::from_bits, f64::to_bits);

impl Lane for bool {
    type Raw = u8;
    #[inline(always)]
    fn get(raw: u8) -> Self {
        raw != 0
    }
    #[inline(always)]
    fn put(self) -> u8 {
        self.into()
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        bits & 1 != 0
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn prepare(registers: &Registers, slot: &mut Slot, operand: Operand, warps: Range<usize>) {
        let chunks = slot.bytes.as_chunks_mut::<WARP>().0;
        for (bytes, warp) in chunks.iter_mut().zip(warps) {
            let bits = match operand {
                Operand::All(bits) => u32::from(bits & 1 != 0).wrapping_neg(),
                Operand::Row(at) => registers.predicates[at + warp],
            };
            for (lane, byte) in bytes.iter_mut().enumerate() {
                *byte = (bits >> lane & 1) as u8;
            }
        }
    }
    #[inline(always)]
    fn row<'a>(_: &'a Registers, slot: &'a Slot, _: Operand, warps: Range<usize>) -> &'a [u8] {
        &slot.bytes[..warps.len() * WARP]
    }
    #[inline(always)]
    fn result(slot: &mut Slot) -> &mut [u8; LANES] {
        &mut slot.bytes
    }
    #[inline(always)]
    fn keep(registers: &mut Registers, slot: &Slot, to: usize, masks: &[u32], warps: Range<usize>) {
        let row = &mut registers.predicates[to + warps.start..to + warps.end];
        for ((word, values), &mask) in row.iter_mut().zip(slot.bytes.as_chunks::<WARP>().0).zip(&masks[warps])
        {
            *word = gather(values) & mask | *word & !mask;
        }
    }
}

/// The lowest bits of a warp's bytes, eight at a time: the product brings each into the highest byte.
#[inline(always)]
fn gather(bytes: &[u8; WARP]) -> u32 {
    let bits =
        |eight: &[u8; 8]| (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
    bytes.as_chunks::<8>().0.iter().rev().fold(0, |all, eight| all << 8 | bits(eight))
}

/// How an operation on values becomes one on something larger.
pub(super) trait Apply: Sized {
    type Output;
    fn one<A: Lane, T: Lane>(self, f: impl Fn(A) -> T) -> Self::Output;
    fn two<A: Lane, B: Lane, T: Lane>(self, f: impl Fn(A, B) -> T) -> Self::Output;
    fn three<A: Lane, B: Lane, C: Lane, T: Lane>(self, f: impl Fn(A, B, C) -> T) -> Self::Output;
    fn four<A: Lane, B: Lane, C: Lane, D: Lane, T: Lane>(self, f: impl Fn(A, B, C, D) -> T) -> Self::Output;
}

/// The values of one lane.
#[derive(Clone, Copy)]
pub(super) struct One(pub [u64; 4]);

impl Apply for One {
    type Output = u64;
    #[inline(always)]
    fn one<A: Lane, T: Lane>(self, f: impl Fn(A) -> T) -> u64 {
        f(A::of_bits(self.0[0])).bits()
    }
    #[inline(always)]
    fn two<A: Lane, B: Lane, T: Lane>(self, f: impl Fn(A, B) -> T) -> u64 {
        f(A::of_bits(self.0[0]), B::of_bits(self.0[1])).bits()
    }
    #[inline(always)]
    fn three<A: Lane, B: Lane, C: Lane, T: Lane>(self, f: impl Fn(A, B, C) -> T) -> u64 {
        f(A::of_bits(self.0[0]), B::of_bits(self.0[1]), C::of_bits(self.0[2])).bits()
    }
    #[inline(always)]
    fn four<A: Lane, B: Lane, C: Lane, D: Lane, T: Lane>(self, f: impl Fn(A, B, C, D) -> T) -> u64 {
        let [a, b, c, d] = self.0;
        f(A::of_bits(a), B::of_bits(b), C::of_bits(c), D::of_bits(d)).bits()
    }
}

impl Rows<'_> {
    /// From the first to the last warp that has lanes to write.
    #[inline(always)]
    fn warps(&self) -> Range<usize> {
        let active = |mask: &u32| *mask != 0;
        let first = self.masks.iter().position(active).unwrap_or(0);
        first..self.masks.iter().rposition(active).map_or(first, |last| last + 1)
    }
}

/// Applies a function to rows: operands are read, the result is computed into a row of its own and then written.
macro_rules! apply {
    ($rows:ident, $type:ty, [$($slot:literal $operand:ident: $kind:ty),*], $value:expr) => {{
        let warps = $rows.warps();
        let Rows { registers, scratch, to, from, masks } = $rows;
        let Scratch { operands, result } = &mut **scratch;
        $(<$kind>::prepare(registers, &mut operands[$slot], from[$slot], warps.clone());)*
        let lanes = warps.len() * WARP;
        $(let $operand = &<$kind>::row(registers, &operands[$slot], from[$slot], warps.clone())[..lanes];)*
        for (i, result) in <$type>::result(result)[..lanes].iter_mut().enumerate() {
            $(let $operand = <$kind>::get($operand[i]);)*
            *result = $value.put();
        }
        <$type>::keep(registers, result, *to, masks, warps);
    }};
}

impl Apply for &mut Rows<'_> {
    type Output = ();
    #[inline(always)]
    fn one<A: Lane, T: Lane>(self, f: impl Fn(A) -> T) {
        apply!(self, T, [0 a: A], f(a));
    }
    #[inline(always)]
    fn two<A: Lane, B: Lane, T: Lane>(self, f: impl Fn(A, B) -> T) {
        apply!(self, T, [0 a: A, 1 b: B], f(a, b));
    }
    #[inline(always)]
    fn three<A: Lane, B: Lane, C: Lane, T: Lane>(self, f: impl Fn(A, B, C) -> T) {
        apply!(self, T, [0 a: A, 1 b: B, 2 c: C], f(a, b, c));
    }
    #[inline(always)]
    fn four<A: Lane, B: Lane, C: Lane, D: Lane, T: Lane>(self, f: impl Fn(A, B, C, D) -> T) {
        apply!(self, T, [0 a: A, 1 b: B, 2 c: C, 3 d: D], f(a, b, c, d));
    }
}
