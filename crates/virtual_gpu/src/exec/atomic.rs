//! What an atomic operation leaves in memory.

use ptx::AtomicOp;

use super::lanes::NAN32;

/// The new value from the old one and the operands, in as many bytes.
pub(super) fn apply(op: AtomicOp, bytes: u32, old: u64, a: u64, b: u64) -> u64 {
    let above = 64 - 8 * bytes;
    let signed = |value: u64| (value << above) as i64;
    let unsigned = |value: u64| value << above;
    let (old_plain, a_plain) = (unsigned(old), unsigned(a));
    match op {
        AtomicOp::Add => old.wrapping_add(a),
        AtomicOp::AddSingle => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(a as u32);
            u64::from(if sum.is_nan() { NAN32 } else { sum.to_bits() })
        }
        AtomicOp::AddDouble => (f64::from_bits(old) + f64::from_bits(a)).to_bits(),
        AtomicOp::MinSigned => {
            if signed(a) < signed(old) {
                a
            } else {
                old
            }
        }
        AtomicOp::MaxSigned => {
            if signed(a) > signed(old) {
                a
            } else {
                old
            }
        }
        AtomicOp::MinUnsigned => {
            if a_plain < old_plain {
                a
            } else {
                old
            }
        }
        AtomicOp::MaxUnsigned => {
            if a_plain > old_plain {
                a
            } else {
                old
            }
        }
        AtomicOp::And => old & a,
        AtomicOp::Or => old | a,
        AtomicOp::Xor => old ^ a,
        AtomicOp::Exchange => a,
        AtomicOp::CompareAndSwap => {
            if old_plain == a_plain {
                b
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old_plain >= a_plain {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old_plain == 0 || old_plain > a_plain {
                a
            } else {
                old - 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation() {
        let minus = u64::from(u32::MAX);
        for (op, bytes, old, a, b, new) in [
            (AtomicOp::Add, 4, minus, 2, 0, minus + 2),
            (AtomicOp::MinSigned, 4, 1, minus, 0, minus),
            (AtomicOp::MinUnsigned, 4, 1, minus, 0, 1),
            (AtomicOp::MaxSigned, 4, 1, minus, 0, 1),
            (AtomicOp::MaxUnsigned, 4, 1, minus, 0, minus),
            (AtomicOp::MinSigned, 8, 1, u64::MAX, 0, u64::MAX),
            (AtomicOp::And, 4, 6, 3, 0, 2),
            (AtomicOp::Or, 4, 6, 3, 0, 7),
            (AtomicOp::Xor, 4, 6, 3, 0, 5),
            (AtomicOp::Exchange, 8, 6, 3, 0, 3),
            (AtomicOp::CompareAndSwap, 4, 6, 6, 9, 9),
            (AtomicOp::CompareAndSwap, 4, 6, 7, 9, 6),
            (AtomicOp::CompareAndSwap, 2, 6, 0xf_0006, 9, 9),
            (AtomicOp::Increment, 4, 3, 3, 0, 0),
            (AtomicOp::Increment, 4, 2, 3, 0, 3),
            (AtomicOp::Decrement, 4, 0, 3, 0, 3),
            (AtomicOp::Decrement, 4, 9, 3, 0, 3),
            (AtomicOp::Decrement, 4, 2, 3, 0, 1),
        ] {
            assert_eq!(apply(op, bytes, old, a, b), new, "{op:?}");
        }
        let bits = |value: f32| u64::from(value.to_bits());
        assert_eq!(apply(AtomicOp::AddSingle, 4, bits(1.5), bits(0.25), 0), bits(1.75));
        assert_eq!(apply(AtomicOp::AddSingle, 4, bits(f32::NAN), 0, 0), u64::from(NAN32));
        assert_eq!(
            apply(AtomicOp::AddDouble, 8, 1.5_f64.to_bits(), 0.25_f64.to_bits(), 0),
            1.75_f64.to_bits()
        );
    }
}
