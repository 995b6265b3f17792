//! Launches: what is refused at the call, and what is put into the stream.

use super::device::{GREATEST_PRIORITY, MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK};
use super::graph::Task;
use super::module::max_threads;
use super::{Answer, Driver};
use crate::clock::Schedule;
use crate::machine::KernelLaunch;
use cuda_driver::{CUlaunchAttribute, CUlaunchAttributeId as Id, CuResult};

/// Grid, block and dynamic shared memory of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
}

/// What the attributes of a launch ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    early: bool,
    priority: Option<i32>,
}

impl Driver {
    /// Where each parameter of a kernel begins in its arguments, and how many bytes it has.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn parameters(&mut self, function: usize) -> Answer<Vec<(u32, u32)>> {
        self.context()?;
        Ok(self.functions.get(function)?.kernel.parameters().collect())
    }

    /// `cuLaunchKernel` and `cuLaunchKernelEx`. `arguments` are laid out as [`Driver::parameters`] says.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for a grid, a block or dynamic shared memory that is out of its range; `LAUNCH_OUT_OF_RESOURCES` for
    /// more threads than the kernel's registers allow; `INVALID_HANDLE`; `NOT_SUPPORTED` for an attribute that the card does
    /// not have, and for an early start in a capture; those of a capture; the error of a kernel.
    pub fn launch(
        &mut self,
        function: usize,
        shape: LaunchShape,
        stream: usize,
        arguments: Vec<u8>,
        attributes: &[CUlaunchAttribute],
    ) -> Answer<()> {
        let stream = self.stream(stream)?;
        let kernel = self.functions.get(function)?;
        if kernel.context != stream.context {
            return Err(CuResult::INVALID_HANDLE);
        }
        check_shape(&shape, kernel.dynamic_shared_limit)?;
        if shape.block.iter().product::<u32>() > max_threads(self.card(), &kernel.kernel) {
            return Err(CuResult::LAUNCH_OUT_OF_RESOURCES);
        }
        let asked = self.read_attributes(attributes)?;
        let launch = KernelLaunch {
            grid: shape.grid,
            block: shape.block,
            shared_bytes: shape.shared_bytes,
            arguments,
            priority: asked.priority.unwrap_or(stream.priority),
            early: asked.early,
        };
        let kernel = self.functions.get(function)?.kernel.clone();
        if self.captured(stream)?.is_some() {
            // An early start would be an edge of another kind.
            return match asked.early {
                true => Err(CuResult::NOT_SUPPORTED),
                false => self.note(stream, Task::Kernel(kernel, launch)),
            };
        }
        self.first_use(function)?;
        self.spend(self.card().host.launch_ns)?;
        let arrival = self.arrival();
        let launched = self.machine.launch(stream.id, arrival, &[], &kernel, launch);
        launched.map(|_| ()).map_err(|_| CuResult::INVALID_VALUE)
    }

    /// A kernel reaches the card at its first use, and that can wait for what runs. The late schedule is spared this, since
    /// it would be order that nobody may rely on.
    fn first_use(&mut self, function: usize) -> Answer<()> {
        if std::mem::replace(&mut self.functions.get_mut(function)?.loaded, true) {
            return Ok(());
        }
        match self.schedule {
            Schedule::Card => self.wait_for_all(),
            Schedule::Late => Ok(()),
        }
    }

    fn read_attributes(&self, attributes: &[CUlaunchAttribute]) -> Answer<Asked> {
        let mut asked = Asked::default();
        for attribute in attributes {
            match attribute.id() {
                Id::IGNORE => {}
                Id::PROGRAMMATIC_STREAM_SERIALIZATION => asked.early = attribute.as_int() != 0,
                Id::PRIORITY => asked.priority = Some(attribute.as_int().clamp(GREATEST_PRIORITY, 0)),
                _ => return Err(CuResult::NOT_SUPPORTED),
            }
        }
        match asked.early && !self.card().has_programmatic_launch() {
            true => Err(CuResult::NOT_SUPPORTED),
            false => Ok(asked),
        }
    }
}

fn check_shape(shape: &LaunchShape, dynamic_shared_limit: u32) -> Answer<()> {
    let inside = |counts: &[u32; 3], most: &[u32; 3]| {
        counts.iter().zip(most).all(|(&count, &most)| (1..=most).contains(&count))
    };
    // Along each axis first, so that the product cannot overflow.
    let fits = inside(&shape.grid, &MAX_GRID)
        && inside(&shape.block, &MAX_BLOCK)
        && shape.block.iter().product::<u32>() <= MAX_THREADS_PER_BLOCK
        && shape.shared_bytes <= dynamic_shared_limit;
    if fits { Ok(()) } else { Err(CuResult::INVALID_VALUE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(grid: [u32; 3], block: [u32; 3], shared_bytes: u32, fits: bool) {
        let answer = check_shape(&LaunchShape { grid, block, shared_bytes }, 48 << 10);
        assert_eq!(answer, if fits { Ok(()) } else { Err(CuResult::INVALID_VALUE) });
    }

    #[test]
    fn each_limit_of_a_launch_is_refused_at_the_call() {
        check([1, 1, 1], [1024, 1, 1], 48 << 10, true);
        check([2_147_483_647, 65_535, 65_535], [1, 1, 64], 0, true);
        check([1, 1, 1], [1025, 1, 1], 0, false);
        check([1, 1, 1], [33, 32, 1], 0, false);
        check([1, 1, 1], [1, 1, 65], 0, false);
        check([1, 65_536, 1], [1, 1, 1], 0, false);
        check([0, 1, 1], [1, 1, 1], 0, false);
        check([1, 1, 1], [0, 1, 1], 0, false);
        check([1, 1, 1], [1, 1, 1], 50 << 10, false);
    }
}
