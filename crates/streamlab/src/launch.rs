//! The shape of a launch and its attributes. Plain data; the driver checks it against the device and the kernel.

use std::fmt;

/// Grid, block, shared memory and attributes of a launch (`CUlaunchConfig`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in each dimension.
    pub grid: (u32, u32, u32),
    /// Threads of a block in each dimension.
    pub block: (u32, u32, u32),
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// What the driver is told beyond the shape.
    pub attributes: Attributes,
}

/// Launch attributes (`CUlaunchAttribute`). One that is `None` is not passed, and a launch with none of them works on a
/// driver that knows no attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Whether the kernel may start before the one ahead of it in the stream has finished: once all its blocks have
    /// triggered or exited. It is then ordered after it only from its own wait on (`cuda_std::pdl`). Compute capability
    /// 9.0. (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`)
    pub programmatic_stream_serialization: Option<bool>,
    /// The launch's priority in place of its stream's: a lower number goes first. (`CU_LAUNCH_ATTRIBUTE_PRIORITY`)
    pub priority: Option<i32>,
}

impl LaunchConfig {
    /// Returns `blocks` blocks of `threads` threads along x, without dynamic shared memory or attributes.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        LaunchConfig {
            grid: (blocks, 1, 1),
            block: (threads, 1, 1),
            shared_bytes: 0,
            attributes: Attributes { programmatic_stream_serialization: None, priority: None },
        }
    }

    /// Returns as many blocks of `threads` threads along x as give each of `elements` elements a thread.
    pub const fn for_elements(elements: usize, threads: u32) -> Self {
        let blocks = elements.div_ceil(if threads == 0 { 1 } else { threads as usize });
        LaunchConfig::new(if blocks > u32::MAX as usize { u32::MAX } else { blocks as u32 }, threads)
    }

    /// Returns this shape with other attributes.
    pub const fn with(self, attributes: Attributes) -> Self {
        LaunchConfig { attributes, ..self }
    }

    /// Returns this launch with programmatic stream serialization allowed: the secondary kernel of a pair.
    pub const fn programmatic(self) -> Self {
        let Attributes { priority, .. } = self.attributes;
        self.with(Attributes { programmatic_stream_serialization: Some(true), priority })
    }
}

impl Attributes {
    /// Whether the kernel may start before the one ahead of it has finished.
    pub fn may_start_early(&self) -> bool {
        self.programmatic_stream_serialization == Some(true)
    }
}

impl fmt::Display for LaunchConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LaunchConfig { grid, block, shared_bytes, attributes } = self;
        write!(f, "{}x{}x{} blocks of {}x{}x{} threads", grid.0, grid.1, grid.2, block.0, block.1, block.2)?;
        if *shared_bytes > 0 {
            write!(f, " with {shared_bytes} bytes of shared memory")?;
        }
        if let Some(allowed) = attributes.programmatic_stream_serialization {
            let not = if allowed { "" } else { "not " };
            write!(f, ", programmatic stream serialization {not}allowed")?;
        }
        if let Some(priority) = attributes.priority {
            write!(f, ", priority {priority}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_reads_as_a_person_would_say_it() {
        assert_eq!(LaunchConfig::new(8, 256).to_string(), "8x1x1 blocks of 256x1x1 threads");
        let attributes = Attributes { programmatic_stream_serialization: Some(true), priority: Some(-1) };
        let launch = LaunchConfig { shared_bytes: 64, ..LaunchConfig::new(1, 32) }.with(attributes);
        assert_eq!(
            launch.to_string(),
            "1x1x1 blocks of 32x1x1 threads with 64 bytes of shared memory, programmatic stream serialization \
             allowed, priority -1"
        );
    }

    #[test]
    fn there_is_a_thread_for_each_element_and_less_than_a_block_too_many() {
        for (elements, blocks) in [(0, 0), (1, 1), (256, 1), (257, 2), (usize::MAX, u32::MAX)] {
            assert_eq!(LaunchConfig::for_elements(elements, 256).grid.0, blocks, "{elements}");
        }
    }
}
