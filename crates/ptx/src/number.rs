//! Literals: what a number in the text means to the operand it stands for.

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Literal {
    /// An integer, in two's complement.
    Integer(u64),
    /// `0f` and eight digits: the bits of a single.
    Single(u32),
    /// `0d` and sixteen digits, or a number with a point: the bits of a double.
    Double(u64),
}

impl Literal {
    /// Reads a number; `None` when the word is none, or does not fit 64 bits.
    pub(super) fn read(word: &str) -> Option<Self> {
        let bytes = word.as_bytes();
        if !bytes.first()?.is_ascii_digit() {
            return None;
        }
        let digits = |radix, digits: &str| {
            let digits = digits.strip_suffix(['U', 'u']).unwrap_or(digits);
            u64::from_str_radix(digits, radix).ok().map(Self::Integer)
        };
        match bytes.get(1) {
            None => digits(10, word),
            Some(b'x' | b'X') => digits(16, &word[2..]),
            Some(b'b' | b'B') => digits(2, &word[2..]),
            Some(b'f' | b'F') if bytes.len() == 10 => {
                u32::from_str_radix(&word[2..], 16).ok().map(Self::Single)
            }
            Some(b'd' | b'D') if bytes.len() == 18 => {
                u64::from_str_radix(&word[2..], 16).ok().map(Self::Double)
            }
            _ if bytes.contains(&b'.') => word.parse().ok().map(|value: f64| Self::Double(value.to_bits())),
            _ if bytes[0] == b'0' => digits(8, &word[1..]),
            _ => digits(10, word),
        }
    }

    /// The number with its sign turned.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value.wrapping_neg()),
            Self::Single(bits) => Self::Single(bits ^ 1 << 31),
            Self::Double(bits) => Self::Double(bits ^ 1 << 63),
        }
    }

    /// The bits it has in a register of so many bits; a float only where it has a meaning.
    pub(super) fn bits(self, width: u32) -> Option<u64> {
        match (self, width) {
            (Self::Integer(value), 1) => Some(u64::from(value != 0)),
            (Self::Integer(value), 16) => Some(value & 0xffff),
            (Self::Integer(value), 32) => Some(value & 0xffff_ffff),
            (Self::Integer(value), _) => Some(value),
            (Self::Single(bits), 32) => Some(bits.into()),
            (Self::Double(bits), 32) => Some(u64::from((f64::from_bits(bits) as f32).to_bits())),
            (Self::Double(bits), 64) => Some(bits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_number() {
        use Literal::{Double, Integer, Single};
        for (word, value) in [
            ("0", Integer(0)),
            ("42", Integer(42)),
            ("0x1F", Integer(31)),
            ("0b101U", Integer(5)),
            ("017", Integer(15)),
            ("18446744073709551615", Integer(u64::MAX)),
            ("0f3F800000", Single(0x3f80_0000)),
            ("0d3FF0000000000000", Double(0x3ff0_0000_0000_0000)),
            ("1.5", Double(1.5_f64.to_bits())),
        ] {
            assert_eq!(Literal::read(word), Some(value), "{word}");
        }
        for word in ["", "x", "0x", "18446744073709551616", "0fXYZ", "09", "1.5.2", "%r1"] {
            assert_eq!(Literal::read(word), None, "{word}");
        }
    }

    #[test]
    fn a_number_takes_the_width_of_its_register() {
        assert_eq!(Literal::Integer(1).negated().bits(16), Some(0xffff));
        assert_eq!(Literal::Integer(1).negated().bits(64), Some(u64::MAX));
        assert_eq!(Literal::Double(1.0_f64.to_bits()).bits(32), Some(0x3f80_0000));
        assert_eq!(Literal::Single(0x3f80_0000).bits(64), None);
        assert_eq!(Literal::Single(0).negated(), Literal::Single(0x8000_0000));
    }
}
