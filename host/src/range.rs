//! Named ranges in a profiler's timeline (NVTX). Without a profiler they cost a call that returns at once.

/// A range that ends when it is dropped.
#[must_use = "a range that is dropped at once covers nothing"]
pub struct Range(());

impl Range {
    /// Begins a range on this thread.
    pub fn new(name: &str) -> Self {
        nvtx::range_push!("{}", name);
        Range(())
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        nvtx::range_pop!();
    }
}
