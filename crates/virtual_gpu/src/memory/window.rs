//! The parts of the generic address space that are not device memory.
//!
//! A generic address says by its value where it leads. Device memory lies in none of these windows.

/// Where a window begins; each has [`BYTES`].
pub const SHARED: u64 = 0x6000_0000_0000;
/// The thread's own memory.
pub const LOCAL: u64 = 0x6100_0000_0000;
/// The kernel's parameters.
pub const PARAMETER: u64 = 0x6200_0000_0000;
/// Functions; not memory, but what a function pointer points to.
pub const FUNCTION: u64 = 0x6300_0000_0000;
/// Bytes of a window.
pub const BYTES: u64 = 1 << 32;
/// Where device memory begins.
pub const GLOBAL: u64 = 0x7000_0000_0000;

/// Bytes between the addresses of two functions.
const FUNCTION_STEP: u64 = 16;

/// The address of a function, by its number.
pub fn function_address(number: u32) -> u64 {
    FUNCTION + FUNCTION_STEP * (1 + u64::from(number))
}

/// The number of the function at that address.
pub fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(FUNCTION + FUNCTION_STEP)?;
    (offset % FUNCTION_STEP == 0).then_some(())?;
    u32::try_from(offset / FUNCTION_STEP).ok()
}

/// The offset in a window, if the address lies in it.
pub fn offset_in(window: u64, address: u64) -> Option<u64> {
    address.checked_sub(window).filter(|offset| *offset < BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_address_alone() {
        for number in [0, 1, 77, u32::MAX] {
            assert_eq!(function_at(function_address(number)), Some(number));
            assert_eq!(function_at(function_address(number) + 1), None);
        }
        assert_eq!(function_at(0), None);
        assert_eq!(function_at(FUNCTION), None);
    }

    #[test]
    fn windows_do_not_overlap() {
        let starts = [SHARED, LOCAL, PARAMETER, FUNCTION, GLOBAL];
        for (k, &start) in starts.iter().enumerate() {
            for (m, &other) in starts.iter().enumerate() {
                assert_eq!(offset_in(other, start).is_some(), k == m);
                assert_eq!(offset_in(other, start + BYTES - 1).is_some(), k == m);
            }
        }
    }
}
