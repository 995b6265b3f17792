//! Sixteen bytes at a time: a slice as groups of four words, which a thread loads or stores with one instruction.
//!
//! Source: PTX ISA, "Data Movement and Conversion Instructions: ld, st" (the `.v4` forms need sixteen-byte alignment).

/// Four words in a row, aligned so that they are accessed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct Four<T>(pub [T; 4]);

/// A number of four bytes.
pub trait Word: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! words {
    ($($type:ty)*) => {$(
        impl sealed::Sealed for $type {}
        impl Word for $type {}
        const _: () = assert!(size_of::<Four<$type>>() == 4 * size_of::<$type>());
    )*};
}

words! { u32 i32 f32 }

/// Returns the slice as groups of four, and the at most three words behind them; nothing if it does not begin at a
/// multiple of sixteen bytes.
#[inline(always)]
pub fn fours<T: Word>(words: &[T]) -> Option<(&[Four<T>], &[T])> {
    // SAFETY: a `Four` is four words without padding (asserted above), and any words make one.
    let (before, fours, rest) = unsafe { words.align_to() };
    before.is_empty().then_some((fours, rest))
}

/// Returns what [`fours`] does, for a slice to write.
#[inline(always)]
pub fn fours_mut<T: Word>(words: &mut [T]) -> Option<(&mut [Four<T>], &mut [T])> {
    // SAFETY: as in `fours`; what is written to a `Four` is four words.
    let (before, fours, rest) = unsafe { words.align_to_mut() };
    before.is_empty().then_some((fours, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aligned_slice_is_groups_of_four_and_a_rest() {
        let words = Four([0_u32; 4]);
        for length in 0..4 {
            assert_eq!(fours(&words.0[..length]), Some((&[][..], &words.0[..length])));
        }
        let mut many = [Four([1_u32, 2, 3, 4]); 3];
        // SAFETY: three groups are twelve words.
        let words = unsafe { core::slice::from_raw_parts_mut(many.as_mut_ptr().cast::<u32>(), 12) };
        assert_eq!(fours(words).map(|(fours, rest)| (fours.len(), rest.len())), Some((3, 0)));
        assert_eq!(fours(&words[..11]).map(|(fours, rest)| (fours.len(), rest)), Some((2, &[1, 2, 3][..])));
        fours_mut(&mut words[4..]).unwrap().0[1].0[3] = 9;
        assert_eq!(words[11], 9);
    }

    #[test]
    fn a_slice_that_begins_elsewhere_is_none() {
        let words = Four([0_f32; 4]);
        for start in 1..4 {
            assert_eq!(fours(&words.0[start..]), None);
        }
    }
}
