//! Rows of registers, and how a function of one lane is applied to all.
//!
//! A row holds one register of a whole block, 32 lanes (a warp) to a chunk. Predicates are one word of bits for each
//! warp. A function is applied chunk by chunk: all of a chunk's operands are read before any of its results is written,
//! so a row may be operand and result, and the loops are plain enough for the compiler's vector units.

use std::cell::Cell;

/// Lanes of a warp.
pub(super) const WARP: usize = 32;

/// One warp's values of a register.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk<T>(pub [T; WARP]);

/// A block's registers, each kind in a file of its own.
#[derive(Debug, Default)]
pub(super) struct Registers {
    pub words: Vec<Chunk<u32>>,
    pub doubles: Vec<Chunk<u64>>,
    pub predicates: Vec<u32>,
}

/// What a lane's value is to an operation, and how it is held in a row.
pub(super) trait Lane: Copy {
    type Chunk: Copy + 'static;
    /// Results of a warp while they are collected.
    type Results;
    fn file<'r>(rows: &Rows<'r>) -> &'r [Cell<Self::Chunk>];
    fn splat(bits: u64) -> Self::Chunk;
    fn at(chunk: &Self::Chunk, lane: usize) -> Self;
    fn results() -> Self::Results;
    fn put(results: &mut Self::Results, lane: usize, value: Self);
    fn chunk(results: Self::Results) -> Self::Chunk;
    /// The new values where the mask has a bit, else the old.
    fn blend(old: Self::Chunk, new: Self::Chunk, mask: u32) -> Self::Chunk;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

/// A type that is held in a register of 32 bits.
macro_rules! in_word {
    ($type:ty, $get:expr, $set:expr) => {
        impl Lane for $type {
            type Chunk = Chunk<u32>;
            type Results = Chunk<u32>;
            #[inline(always)]
            fn file<'r>(rows: &Rows<'r>) -> &'r [Cell<Chunk<u32>>] {
                rows.words
            }
            #[inline(always)]
            fn splat(bits: u64) -> Chunk<u32> {
                Chunk([bits as u32; WARP])
            }
            #[inline(always)]
            fn at(chunk: &Chunk<u32>, lane: usize) -> Self {
                $get(chunk.0[lane])
            }
            #[inline(always)]
            fn results() -> Chunk<u32> {
                Chunk([0; WARP])
            }
            #[inline(always)]
            fn put(results: &mut Chunk<u32>, lane: usize, value: Self) {
                results.0[lane] = $set(value);
            }
            #[inline(always)]
            fn chunk(results: Chunk<u32>) -> Chunk<u32> {
                results
            }
            #[inline(always)]
            fn blend(old: Chunk<u32>, new: Chunk<u32>, mask: u32) -> Chunk<u32> {
                let mut chunk = old;
                for lane in 0..WARP {
                    chunk.0[lane] = if mask & 1 << lane != 0 { new.0[lane] } else { old.0[lane] };
                }
                chunk
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $get(bits as u32)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from($set(self))
            }
        }
    };
}

/// A type that is held in a register of 64 bits.
macro_rules! in_double {
    ($type:ty, $get:expr, $set:expr) => {
        impl Lane for $type {
            type Chunk = Chunk<u64>;
            type Results = Chunk<u64>;
            #[inline(always)]
            fn file<'r>(rows: &Rows<'r>) -> &'r [Cell<Chunk<u64>>] {
                rows.doubles
            }
            #[inline(always)]
            fn splat(bits: u64) -> Chunk<u64> {
                Chunk([bits; WARP])
            }
            #[inline(always)]
            fn at(chunk: &Chunk<u64>, lane: usize) -> Self {
                $get(chunk.0[lane])
            }
            #[inline(always)]
            fn results() -> Chunk<u64> {
                Chunk([0; WARP])
            }
            #[inline(always)]
            fn put(results: &mut Chunk<u64>, lane: usize, value: Self) {
                results.0[lane] = $set(value);
            }
            #[inline(always)]
            fn chunk(results: Chunk<u64>) -> Chunk<u64> {
                results
            }
            #[inline(always)]
            fn blend(old: Chunk<u64>, new: Chunk<u64>, mask: u32) -> Chunk<u64> {
                let mut chunk = old;
                for lane in 0..WARP {
                    chunk.0[lane] = if mask & 1 << lane != 0 { new.0[lane] } else { old.0[lane] };
                }
                chunk
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $get(bits)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                $set(self)
            }
        }
    };
}

/// The one NaN that arithmetic in single precision gives (PTX ISA, "Floating-Point Instructions").
pub(super) const NAN32: u32 = 0x7fff_ffff;
/// The one NaN that arithmetic in double precision gives.
pub(super) const NAN64: u64 = 0x7fff_ffff_ffff_ffff;

in_word!(u32, |raw: u32| raw, |value: u32| value);
in_word!(i32, |raw: u32| raw as i32, |value: i32| value as u32);
in_word!(u16, |raw: u32| raw as u16, u32::from);
in_word!(i16, |raw: u32| raw as u16 as i16, |value: i16| u32::from(value as u16));
in_word!(f32, f32::from_bits, |value: f32| if value.is_nan() { NAN32 } else { value.to_bits() });
in_double!(u64, |raw: u64| raw, |value: u64| value);
in_double!(i64, |raw: u64| raw as i64, |value: i64| value as u64);
in_double!(f64, f64::from_bits, |value: f64| if value.is_nan() { NAN64 } else { value.to_bits() });

impl Lane for bool {
    type Chunk = u32;
    type Results = [u8; WARP];
    #[inline(always)]
    fn file<'r>(rows: &Rows<'r>) -> &'r [Cell<u32>] {
        rows.predicates
    }
    #[inline(always)]
    fn splat(bits: u64) -> u32 {
        if bits & 1 != 0 { u32::MAX } else { 0 }
    }
    #[inline(always)]
    fn at(chunk: &u32, lane: usize) -> Self {
        chunk & 1 << lane != 0
    }
    #[inline(always)]
    fn results() -> [u8; WARP] {
        [0; WARP]
    }
    #[inline(always)]
    fn put(results: &mut [u8; WARP], lane: usize, value: Self) {
        results[lane] = value.into();
    }
    /// Eight lanes at a time: the product brings the lowest bit of each byte into the highest byte.
    #[inline(always)]
    fn chunk(results: [u8; WARP]) -> u32 {
        let (eights, _) = results.as_chunks::<8>();
        let bits =
            |eight: &[u8; 8]| (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32;
        eights.iter().rev().fold(0, |all, eight| all << 8 | bits(eight))
    }
    #[inline(always)]
    fn blend(old: u32, new: u32, mask: u32) -> u32 {
        new & mask | old & !mask
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        bits & 1 != 0
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self.into()
    }
}

/// An operand of a step: where its row begins in the file of its kind, or the value of all lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Row(usize),
    All(u64),
}

/// The register files as an operation sees them, with its operands and the lanes it writes.
#[derive(Clone, Copy)]
pub(super) struct Rows<'r> {
    pub words: &'r [Cell<Chunk<u32>>],
    pub doubles: &'r [Cell<Chunk<u64>>],
    pub predicates: &'r [Cell<u32>],
    /// Where the result's row begins.
    pub to: usize,
    pub from: [Operand; 4],
    /// For each warp the lanes that are written.
    pub masks: &'r [u32],
}

impl Registers {
    /// All files, shared: a row may be read and written by one operation.
    pub fn rows<'r>(&'r mut self, to: usize, from: [Operand; 4], masks: &'r [u32]) -> Rows<'r> {
        Rows {
            words: Cell::from_mut(&mut self.words[..]).as_slice_of_cells(),
            doubles: Cell::from_mut(&mut self.doubles[..]).as_slice_of_cells(),
            predicates: Cell::from_mut(&mut self.predicates[..]).as_slice_of_cells(),
            to,
            from,
            masks,
        }
    }
}

/// One operand's row; a value of all lanes is a row of one chunk that is read again and again.
struct Reader<'r, T: Lane> {
    row: &'r [Cell<T::Chunk>],
    all: T::Chunk,
}

impl<'r, T: Lane> Reader<'r, T> {
    #[inline(always)]
    fn new(rows: &Rows<'r>, operand: usize) -> Self {
        match rows.from[operand] {
            Operand::Row(at) => Self { row: &T::file(rows)[at..at + rows.masks.len()], all: T::splat(0) },
            Operand::All(bits) => Self { row: &[], all: T::splat(bits) },
        }
    }

    /// One warp's values.
    ///
    /// # Safety
    /// No row may be written while the reference lives.
    #[inline(always)]
    unsafe fn get(&self, warp: usize) -> &T::Chunk {
        if warp < self.row.len() {
            // SAFETY: the cell is alive as long as `self`, this thread alone has it (a `Cell` is not shared between
            // threads), and the caller writes none meanwhile. A copy would be right too, and cost as much as the work.
            unsafe { &*self.row[warp].as_ptr() }
        } else {
            &self.all
        }
    }
}

/// How an operation on values becomes one on something larger.
pub(super) trait Apply: Copy {
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

/// Writes some lanes of a chunk. Rare enough to stand in one place.
#[inline(never)]
fn blend_into<T: Lane>(to: &Cell<T::Chunk>, new: &T::Chunk, mask: u32) {
    to.set(T::blend(to.get(), *new, mask));
}

/// Computes the chunk of each warp that has lanes to write. A macro, for a closure would be compiled for the vector units
/// of every processor only.
macro_rules! each_warp {
    ($rows:ident, $type:ty, [$($operand:ident: $reader:ident),*], |$lane:ident| $value:expr) => {
        let to = &<$type>::file(&$rows)[$rows.to..$rows.to + $rows.masks.len()];
        for (warp, &mask) in $rows.masks.iter().enumerate() {
            if mask == 0 {
                continue;
            }
            let mut results = <$type>::results();
            {
                // SAFETY: what is applied gets values, not rows, so that nothing is written until this scope ends.
                $(let $operand = unsafe { $reader.get(warp) };)*
                for $lane in 0..WARP {
                    <$type>::put(&mut results, $lane, $value);
                }
            }
            let chunk = <$type>::chunk(results);
            if mask == u32::MAX {
                to[warp].set(chunk);
            } else {
                blend_into::<$type>(&to[warp], &chunk, mask);
            }
        }
    };
}

impl Apply for Rows<'_> {
    type Output = ();
    #[inline(always)]
    fn one<A: Lane, T: Lane>(self, f: impl Fn(A) -> T) {
        let first = Reader::<A>::new(&self, 0);
        each_warp!(self, T, [a: first], |lane| f(A::at(a, lane)));
    }
    #[inline(always)]
    fn two<A: Lane, B: Lane, T: Lane>(self, f: impl Fn(A, B) -> T) {
        let (first, second) = (Reader::<A>::new(&self, 0), Reader::<B>::new(&self, 1));
        each_warp!(self, T, [a: first, b: second], |lane| f(A::at(a, lane), B::at(b, lane)));
    }
    #[inline(always)]
    fn three<A: Lane, B: Lane, C: Lane, T: Lane>(self, f: impl Fn(A, B, C) -> T) {
        let (first, second) = (Reader::<A>::new(&self, 0), Reader::<B>::new(&self, 1));
        let third = Reader::<C>::new(&self, 2);
        each_warp!(self, T, [a: first, b: second, c: third], |lane| {
            f(A::at(a, lane), B::at(b, lane), C::at(c, lane))
        });
    }
    #[inline(always)]
    fn four<A: Lane, B: Lane, C: Lane, D: Lane, T: Lane>(self, f: impl Fn(A, B, C, D) -> T) {
        let (first, second) = (Reader::<A>::new(&self, 0), Reader::<B>::new(&self, 1));
        let (third, fourth) = (Reader::<C>::new(&self, 2), Reader::<D>::new(&self, 3));
        each_warp!(self, T, [a: first, b: second, c: third, d: fourth], |lane| {
            f(A::at(a, lane), B::at(b, lane), C::at(c, lane), D::at(d, lane))
        });
    }
}
