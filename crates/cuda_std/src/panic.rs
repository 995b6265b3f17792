//! The device's panic handler: a kernel that panics traps, and the launch ends with an error.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: `trap` has no precondition; it ends the grid, and the host's next call reports it.
    unsafe { core::arch::nvptx::trap() }
}
