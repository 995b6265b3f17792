//! Programmatic dependent launch: a kernel (the secondary) that may start before the one ahead of it in the stream
//! (the primary) has finished. Compute capability 9.0 and later; absent from PTX for older cards, so a kernel that
//! uses it says `#[kernel(since = "sm_90")]`.
//!
//! The attribute on the secondary's launch is what allows the early start. Without it [`wait`] returns at once and
//! [`trigger`] does nothing.
//!
//! Source: PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".

/// Says that this block has nothing more to do that the secondary must not overlap: once every block of the primary
/// has said so, or has exited, the secondary's blocks may start.
///
/// It orders no memory: what the primary wrote is visible to the secondary after the secondary's [`wait`], not before.
#[inline(always)]
pub fn trigger() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the instruction touches no memory of this thread; as a memory clobber it keeps its place among stores.
    unsafe {
        core::arch::asm!("griddepcontrol.launch_dependents;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device_only("pdl::trigger")
}

/// Waits until every primary has finished and its memory is visible here.
///
/// Read nothing that the primary writes before it. Such a buffer is a `*const T` parameter, not a `&[T]`: a shared
/// slice promises that nobody writes while the kernel runs, and the compiler may then read above the wait.
#[inline(always)]
pub fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits; as a memory clobber it keeps later loads below it.
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device_only("pdl::wait")
}
