//! The jump through the table, for 64-bit Arm under Linux. It may touch no register but x16, and no memory.
//!
//! Why a jump is enough: the caller has laid out arguments and return address for the driver's function as the
//! procedure call standard (AAPCS64) wants them, and the jump leaves all of it in place. x16 and x17 are the
//! registers which that standard reserves for veneers between caller and callee: they carry no argument (x0 to
//! x7, x8 for a returned structure, and v0 to v7 do) and no caller expects them kept. The stack pointer does not
//! move, so the arguments after the eighth stay where the callee looks for them; x30 is not written, so the callee
//! returns straight to the caller. The driver has no variadic function.
//!
//! The slot is loaded with acquire: whoever jumps to a function also sees what was written before the function
//! was put into the table.

/// Defines `$name` as a jump to the function whose address lies `$offset` bytes into `$table`.
///
/// The symbol is hidden: the program's own objects link to it, but libraries that are opened later, the driver and
/// a profiler among them, never find it in place of the driver's. The table's address comes from the global
/// offset table, which serves position-independent code too and which linkers turn into a plain address.
macro_rules! jump {
    ($name:ident, $table:path, $offset:expr) => {
        global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",%progbits"),
            ".p2align 2",
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            concat!(stringify!($name), ":"),
            ".cfi_startproc",
            // `bti c`, spelled so that assemblers for processors without it take it: a caller may hold the stub's
            // address, and with branch target identification such a call must land here. The driver's function
            // may ask the same of the jump below, which through x16 counts as a call.
            "hint #34",
            "adrp x16, :got:{table}",
            "ldr x16, [x16, :got_lo12:{table}]",
            "add x16, x16, #{offset}",
            "ldar x16, [x16]",
            "br x16",
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            table = sym $table,
            offset = const $offset,
        );
    };
}
pub(crate) use jump;
