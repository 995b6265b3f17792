//! The jump through the table, for x86-64 under Linux. It may touch no register but r11, and no memory.
//!
//! Why a jump is enough: the caller has laid out arguments and return address for the driver's function as the
//! System V ABI wants them, and the jump leaves all of it in place. r11 is the one scratch register that the ABI
//! reserves for linkers and call stubs: it carries no argument (rdi, rsi, rdx, rcx, r8, r9 and xmm0 to xmm7 do;
//! r10 is the static chain, al counts vector registers of a variadic call, and the driver has no such function)
//! and no caller expects it kept. The stack pointer does not move, so the stack stays aligned and the arguments
//! after the sixth stay where the callee looks for them; the callee returns straight to the caller.
//!
//! A load is an acquire on this architecture: whoever jumps to a function also sees what was written before the
//! function was put into the table.

/// Defines `$name` as a jump to the function whose address lies `$offset` bytes into `$table`.
///
/// The symbol is hidden: the program's own objects link to it, but libraries that are opened later, the driver and
/// a profiler among them, never find it in place of the driver's. The table's address comes from the global
/// offset table, which serves position-independent code too and which linkers turn into a plain address.
macro_rules! jump {
    ($name:ident, $table:path, $offset:expr) => {
        global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl ", stringify!($name)),
            concat!(".hidden ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            concat!(stringify!($name), ":"),
            ".cfi_startproc",
            // A caller may hold the stub's address; with indirect branch tracking such a call must land here.
            "endbr64",
            "mov r11, qword ptr [rip + {table}@GOTPCREL]",
            "jmp qword ptr [r11 + {offset}]",
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            table = sym $table,
            offset = const $offset,
        );
    };
}
pub(crate) use jump;
