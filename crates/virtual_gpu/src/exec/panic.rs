//! Recognizes a Rust panic, and finds what it would have said.

use crate::memory::Memory;

/// Whether a function that never returns is one of `core`'s: calling it is a panic. Names are mangled (v0, or the older
/// scheme).
pub(super) fn is_core(name: &str) -> bool {
    let plain = format!("{:#}", rustc_demangle::demangle(name));
    ["core::", "alloc::", "std::"].iter().any(|root| {
        plain.starts_with(root)
            || plain.starts_with(&format!("<{root}"))
            || plain.contains(&format!(" as {root}"))
    })
}

/// What is known of a panic: the function, its numbers if they are an index and a length, and the place in the source
/// if one of the arguments points to it.
pub(super) fn message(name: &str, arguments: &[u64], memory: &Memory) -> String {
    let plain = format!("{:#}", rustc_demangle::demangle(name));
    let short = plain.rsplit("::").next().unwrap_or(&plain);
    let what = match (short, arguments) {
        ("panic_bounds_check", [index, length, ..]) => {
            format!("index out of bounds: the length is {length} but the index is {index}")
        }
        ("slice_index_fail", [start, end, ..]) => {
            format!("a slice's range does not fit: {start} and {end} are its numbers")
        }
        _ => format!("{plain} was called"),
    };
    match arguments.iter().find_map(|&argument| location(argument, memory)) {
        Some(place) => format!("{what}, at {place}"),
        None => what,
    }
}

/// Reads `core::panic::Location` as the compiler lays it out: a string, a line, a column.
fn location(address: u64, memory: &Memory) -> Option<String> {
    let bytes = memory.read(address, 24).ok()?;
    let word = |at: usize| bytes[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let (file, length, position) = (word(0)?, word(8)?, word(16)?);
    let file = memory.read(file, length).ok().filter(|file| file.len() < 4096)?;
    let file = std::str::from_utf8(file).ok().filter(|file| file.ends_with(".rs"))?;
    Some(format!("{file}:{}:{}", position as u32, position >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panic_functions_of_core_are_known_and_a_users_are_not() {
        for name in [
            "_RNvNtCshmRNYGKuN4b_4core9panicking18panic_bounds_check",
            "_RNvNtNtCshmRNYGKuN4b_4core5slice5index16slice_index_fail",
            "_ZN4core9panicking5panic17h0123456789abcdefE",
        ] {
            assert!(is_core(name), "{name}");
        }
        for name in ["_RNvNtCs9cLuhTnvSur_7kernels7control8interest", "stop", "my_core::x"] {
            assert!(!is_core(name), "{name}");
        }
    }

    #[test]
    fn a_message_names_numbers_and_source() {
        let mut memory = Memory::new(1 << 20);
        let file = memory.allocate(14, None).unwrap();
        memory.write(file, 14).unwrap().copy_from_slice(b"gpu/src/lib.rs");
        let place = memory.allocate(24, None).unwrap();
        let words = [file, 14, 7 << 32 | 42];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.write(place, 24).unwrap().copy_from_slice(&bytes);
        let name = "_RNvNtCshmRNYGKuN4b_4core9panicking18panic_bounds_check";
        assert_eq!(
            message(name, &[8, 5, place], &memory),
            "index out of bounds: the length is 5 but the index is 8, at gpu/src/lib.rs:42:7"
        );
        assert_eq!(
            message("_RNvNtCshmRNYGKuN4b_4core9panicking9panic_fmt", &[], &memory),
            "core::panicking::panic_fmt was called"
        );
    }
}
