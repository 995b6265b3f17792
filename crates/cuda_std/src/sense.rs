//! Where and when a thread runs.
//!
//! Source: PTX ISA, "Special Registers" (`%smid`, `%globaltimer`).

/// The streaming multiprocessor that runs this thread now (`%smid`), below the card's count.
#[inline(always)]
pub fn sm_id() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let id: u32;
        // SAFETY: reading a special register has no precondition.
        unsafe {
            core::arch::asm!("mov.u32 {}, %smid;", out(reg32) id, options(nomem, nostack, preserves_flags))
        };
        id
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device_only("sense::sm_id")
}

/// The card's clock in nanoseconds (`%globaltimer`), the same for all its multiprocessors. Its step is the card's: 32 ns
/// on an H200, about 1 us on many others.
#[inline(always)]
pub fn global_timer() -> u64 {
    #[cfg(target_arch = "nvptx64")]
    {
        let ns: u64;
        // SAFETY: reading a special register has no precondition; the memory clobber keeps the reading in its place
        // between the accesses that it is meant to time.
        unsafe {
            core::arch::asm!("mov.u64 {}, %globaltimer;", out(reg64) ns, options(nostack, preserves_flags))
        };
        ns
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device_only("sense::global_timer")
}
