//! The shape of a launch.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use cuda_driver::{CUfunction, CUlaunchAttribute, CUlaunchConfig, CUstream, CuResult};
use cuda_std::abi::MAX_SLOTS;

/// Grid, block, shared memory and attributes of a launch. The driver checks them against the card and the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in each dimension.
    pub grid: (u32, u32, u32),
    /// Threads of a block in each dimension.
    pub block: (u32, u32, u32),
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// What the driver is told beyond the shape.
    pub attributes: Attributes,
}

/// Launch attributes (`CUlaunchAttribute`). One that is `None` is not passed, and a launch with none of them needs no
/// driver that knows attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Whether the kernel may start before the one ahead of it in the stream has finished: once all its blocks have
    /// triggered or exited. It is then ordered after it only from its own wait on (`cuda_std::pdl`). Compute capability
    /// 9.0. (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`)
    pub programmatic_stream_serialization: Option<bool>,
    /// The launch's priority in place of its stream's: a lower number goes first. (`CU_LAUNCH_ATTRIBUTE_PRIORITY`)
    pub priority: Option<i32>,
}

impl Launch {
    /// `blocks` blocks of `threads` threads in a row, without dynamic shared memory or attributes.
    pub fn new(blocks: u32, threads: u32) -> Self {
        Launch {
            grid: (blocks, 1, 1),
            block: (threads, 1, 1),
            shared_bytes: 0,
            attributes: Attributes::default(),
        }
    }

    /// As `cuLaunchKernelEx` takes it. The attributes must live as long as the configuration is used.
    fn config(&self, stream: CUstream, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
        CUlaunchConfig {
            grid_dim_x: self.grid.0,
            grid_dim_y: self.grid.1,
            grid_dim_z: self.grid.2,
            block_dim_x: self.block.0,
            block_dim_y: self.block.1,
            block_dim_z: self.block.2,
            shared_mem_bytes: self.shared_bytes,
            stream,
            attrs: attributes.as_mut_ptr(),
            num_attrs: attributes.len() as u32,
        }
    }

    /// The same launch with these attributes.
    pub fn with(self, attributes: Attributes) -> Self {
        Launch { attributes, ..self }
    }
}

/// The driver call that a launch makes, in values of its own: any host thread can make it.
pub(super) struct Enqueue {
    pub function: CUfunction,
    pub stream: CUstream,
    pub launch: Launch,
    /// The values of the entry's parameters; more than it has are not looked at.
    pub slots: [u64; MAX_SLOTS + 1],
}

impl Enqueue {
    /// The call's name.
    pub fn call(&self) -> &'static str {
        if self.launch.attributes.list().next().is_none() { "cuLaunchKernel" } else { "cuLaunchKernelEx" }
    }

    /// Makes the call. The driver copies the values before it returns.
    ///
    /// # Safety
    ///
    /// The function and the stream are alive, of the calling thread's context; there is a slot for each parameter of the
    /// function, with a value of its type; the buffers among them outlive the work.
    pub unsafe fn make(&self) -> CuResult {
        let mut arguments: [*mut c_void; MAX_SLOTS + 1] =
            std::array::from_fn(|i| ptr::from_ref(&self.slots[i]).cast_mut().cast());
        let mut attributes: Vec<_> = self.launch.attributes.list().collect();
        if attributes.is_empty() {
            let Launch { grid, block, shared_bytes, .. } = self.launch;
            // SAFETY: one pointer for each parameter, each to eight readable bytes; the rest is the caller's.
            return unsafe {
                cuda_driver::cuLaunchKernel(
                    self.function,
                    grid.0,
                    grid.1,
                    grid.2,
                    block.0,
                    block.1,
                    block.2,
                    shared_bytes,
                    self.stream,
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
        }
        let config = self.launch.config(self.stream, &mut attributes);
        // SAFETY: as above; the attributes are as many as the configuration says and live until the call returns.
        unsafe {
            cuda_driver::cuLaunchKernelEx(&config, self.function, arguments.as_mut_ptr(), ptr::null_mut())
        }
    }
}

impl Attributes {
    /// Whether the kernel may start before the one ahead of it has finished.
    pub fn may_start_early(&self) -> bool {
        self.programmatic_stream_serialization == Some(true)
    }

    /// As the driver takes them.
    fn list(&self) -> impl Iterator<Item = CUlaunchAttribute> {
        let serialization =
            self.programmatic_stream_serialization.map(CUlaunchAttribute::programmatic_stream_serialization);
        let priority = self.priority.map(CUlaunchAttribute::priority);
        serialization.into_iter().chain(priority)
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { grid, block, shared_bytes, attributes } = self;
        write!(f, "{}x{}x{} blocks of {}x{}x{} threads", grid.0, grid.1, grid.2, block.0, block.1, block.2)?;
        if *shared_bytes > 0 {
            write!(f, " with {shared_bytes} bytes of shared memory")?;
        }
        if let Some(allowed) = attributes.programmatic_stream_serialization {
            write!(
                f,
                ", programmatic stream serialization {}",
                if allowed { "allowed" } else { "not allowed" }
            )?;
        }
        if let Some(priority) = attributes.priority {
            write!(f, ", priority {priority}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cuda_driver::CUlaunchAttributeId;

    use super::*;

    #[test]
    fn only_what_is_asked_for_is_passed_in_the_drivers_own_layout() {
        let list = |attributes: Attributes| {
            attributes.list().map(|attribute| (attribute.id(), attribute.as_int())).collect::<Vec<_>>()
        };
        let (pdl, priority) = (CUlaunchAttributeId(6), CUlaunchAttributeId(8));
        assert_eq!(list(Attributes::default()), []);
        for (allowed, value) in [(false, 0), (true, 1)] {
            let attributes = Attributes { programmatic_stream_serialization: Some(allowed), priority: None };
            assert_eq!(list(attributes), [(pdl, value)]);
        }
        let both = Attributes { programmatic_stream_serialization: Some(true), priority: Some(-5) };
        assert_eq!(list(both), [(pdl, 1), (priority, -5)]);
    }

    #[test]
    fn a_launch_reads_as_a_person_would_say_it() {
        assert_eq!(Launch::new(8, 256).to_string(), "8x1x1 blocks of 256x1x1 threads");
        let attributes = Attributes { programmatic_stream_serialization: Some(true), priority: Some(-1) };
        let launch = Launch { shared_bytes: 64, ..Launch::new(1, 32) }.with(attributes);
        assert_eq!(
            launch.to_string(),
            "1x1x1 blocks of 32x1x1 threads with 64 bytes of shared memory, programmatic stream serialization \
             allowed, priority -1"
        );
    }
}
