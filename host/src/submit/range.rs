//! Named ranges: in a profiler's timeline (NVTX), and in the log. Without a profiler they cost a call that returns at once.

use super::Context;

/// A range that ends when it is dropped.
#[must_use = "a range that is dropped at once covers nothing"]
pub struct Range<'c> {
    context: &'c Context,
    noted: Option<usize>,
}

impl<'c> Range<'c> {
    /// Begins a range on this thread.
    pub fn new(context: &'c Context, name: &str) -> Self {
        nvtx::range_push!("{}", name);
        Range { context, noted: context.begin_range(name) }
    }
}

impl Drop for Range<'_> {
    fn drop(&mut self) {
        nvtx::range_pop!();
        if let Some(range) = self.noted {
            self.context.end_range(range);
        }
    }
}
