//! Virtual time. Whole picoseconds, so that the same input gives the same times on every machine.

/// A virtual time since the card was opened, or a span of it, in picoseconds: 213 days fit.
pub type Picos = u64;

/// A nanosecond.
pub const NS: Picos = 1_000;

/// Cycles of a clock of `mhz`, as time.
pub fn of_cycles(cycles: u64, mhz: u64) -> Picos {
    cycles.saturating_mul(1_000_000) / mhz
}

/// Time, in whole cycles of a clock of `mhz`.
pub fn to_cycles(time: Picos, mhz: u64) -> u64 {
    // In two parts, because a day of picoseconds times the clock does not fit.
    let (millis, rest) = (time / 1_000_000_000, time % 1_000_000_000);
    millis * 1_000 * mhz + rest * mhz / 1_000_000
}

/// What `bytes` take at `gb_per_s`.
pub fn of_bytes(bytes: u64, gb_per_s: u64) -> Picos {
    bytes.saturating_mul(1_000) / gb_per_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_bytes_are_what_the_units_say() {
        assert_eq!(of_cycles(1980, 1980), 1_000 * NS);
        assert_eq!(of_cycles(2, 1980), 1010);
        assert_eq!(to_cycles(1_000 * NS, 1980), 1980);
        assert_eq!(of_bytes(4_300_000_000, 4300), 1_000_000_000);
        let day = 86_400_000_000_000_000;
        assert_eq!(to_cycles(day, 1980), 86_400 * 1_980_000_000);
    }
}
