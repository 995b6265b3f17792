//! The jump for 64-bit Arm, assembled on any machine: rustc has the assembler, and the jump's file needs no `core`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too, may fail the test")]

use object::{Object, ObjectSection, ObjectSymbol};
use std::path::Path;
use std::process::Command;

/// What a crate without `core` must say itself: the language's bare minimum, the macros, a table, two jumps.
const BEFORE: &str = r#"
#![feature(no_core, lang_items, rustc_attrs)]
#![no_core]
#![allow(internal_features)]
#[lang = "pointee_sized"] trait PointeeSized {}
#[lang = "meta_sized"] trait MetaSized: PointeeSized {}
#[lang = "sized"] trait Sized: MetaSized {}
#[lang = "sync"] unsafe trait Sync {}
#[lang = "drop_in_place"] fn drop_in_place<T: PointeeSized>(_: *mut T) {}
unsafe impl Sync for usize {}
#[rustc_builtin_macro] macro_rules! global_asm { () => {} }
#[rustc_builtin_macro] macro_rules! concat { () => {} }
#[rustc_builtin_macro] macro_rules! stringify { () => {} }
static TABLE: usize = 0;
"#;
const AFTER: &str = "jump!(first, TABLE, 0); jump!(last, TABLE, 4088);";

/// The instructions, as the architecture's manual encodes them; the linker writes the table's place into two.
const HINT_34: u32 = 0xD503_245F;
const ADRP_X16: u32 = 0x9000_0010;
const LDR_X16_X16: u32 = 0xF940_0210;
const ADD_X16_X16: u32 = 0x9100_0210;
const LDAR_X16_X16: u32 = 0xC8DF_FE10;
const BR_X16: u32 = 0xD61F_0200;

/// Compiles a crate of nothing but two jumps for 64-bit Arm, and returns its object file.
fn assemble() -> Vec<u8> {
    let jump = include_str!("../src/jump_aarch64.rs");
    // A module's own documentation cannot stand in the middle of a file.
    let jump: Vec<&str> = jump.lines().filter(|line| !line.starts_with("//!")).collect();
    let source = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/jump_aarch64.rs"));
    let object = source.with_extension("o");
    std::fs::write(source, format!("{BEFORE}{}{AFTER}", jump.join("\n"))).unwrap();
    let output = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--target=aarch64-unknown-linux-gnu",
            "--emit=obj",
            "-o",
        ])
        .args([&object, source])
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(&object).unwrap()
}

#[test]
fn the_jump_is_these_six_instructions() {
    let bytes = assemble();
    let file = object::File::parse(&*bytes).unwrap();
    for (name, offset) in [("first", 0), ("last", 4088)] {
        let symbol = file.symbol_by_name(name).unwrap();
        assert_eq!((symbol.kind(), symbol.size()), (object::SymbolKind::Text, 24), "{name}");
        assert_eq!(symbol.scope(), object::SymbolScope::Linkage, "{name} is to be hidden");
        let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
        let words: Vec<u32> = section
            .data()
            .unwrap()
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(
            words,
            [HINT_34, ADRP_X16, LDR_X16_X16, ADD_X16_X16 | offset << 10, LDAR_X16_X16, BR_X16],
            "{name}"
        );
        let through_the_global_offset_table =
            [(4, object::elf::R_AARCH64_ADR_GOT_PAGE), (8, object::elf::R_AARCH64_LD64_GOT_LO12_NC)];
        let relocations: Vec<_> = section.relocations().map(|(at, how)| (at, kind_of(&file, &how))).collect();
        assert_eq!(relocations, through_the_global_offset_table, "{name}");
    }
}

/// The kind of a relocation, which must be one for the table.
fn kind_of(file: &object::File, relocation: &object::Relocation) -> object::elf::RelocationType {
    let object::RelocationTarget::Symbol(target) = relocation.target() else { panic!("{relocation:?}") };
    let name = file.symbol_by_index(target).unwrap().name().unwrap();
    assert!(name.contains("TABLE"), "{name}");
    let object::RelocationFlags::Elf { r_type } = relocation.flags() else { panic!("{relocation:?}") };
    r_type
}
