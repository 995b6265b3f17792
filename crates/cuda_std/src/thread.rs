//! Where a thread stands in its block and grid. Units: threads and blocks, never bytes.
//!
//! Source: PTX ISA, "Special Registers" (`%tid`, `%ntid`, `%ctaid`, `%nctaid`).

/// A position or an extent in up to three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3 {
    /// First dimension; consecutive threads of a warp differ in it first.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

/// The block a thread belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Which block of the grid this is, each dimension below [`Grid::dim`].
    pub index: Dim3,
    /// Threads in a block.
    pub dim: Dim3,
}

/// The grid a thread belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks in the grid.
    pub dim: Dim3,
}

#[cfg(target_arch = "nvptx64")]
mod registers {
    use super::Dim3;
    use core::arch::nvptx as sreg;

    macro_rules! dim3 {
        ($name:ident, $x:ident, $y:ident, $z:ident) => {
            #[inline(always)]
            pub fn $name() -> Dim3 {
                // SAFETY: reading a special register has no precondition; each holds a value below 2^31.
                unsafe { Dim3 { x: sreg::$x() as u32, y: sreg::$y() as u32, z: sreg::$z() as u32 } }
            }
        };
    }

    dim3!(thread_index, _thread_idx_x, _thread_idx_y, _thread_idx_z);
    dim3!(block_dim, _block_dim_x, _block_dim_y, _block_dim_z);
    dim3!(block_index, _block_idx_x, _block_idx_y, _block_idx_z);
    dim3!(grid_dim, _grid_dim_x, _grid_dim_y, _grid_dim_z);
}

#[cfg(not(target_arch = "nvptx64"))]
mod registers {
    use super::Dim3;

    pub fn thread_index() -> Dim3 {
        crate::device_only("thread::index")
    }
    pub fn block_dim() -> Dim3 {
        crate::device_only("thread::block")
    }
    pub fn block_index() -> Dim3 {
        crate::device_only("thread::block")
    }
    pub fn grid_dim() -> Dim3 {
        crate::device_only("thread::grid")
    }
}

/// The thread's index in its block (`%tid`).
#[inline(always)]
pub fn index() -> Dim3 {
    registers::thread_index()
}

/// The thread's block: its index in the grid (`%ctaid`) and its extent in threads (`%ntid`).
#[inline(always)]
pub fn block() -> Block {
    Block { index: registers::block_index(), dim: registers::block_dim() }
}

/// The thread's grid and its extent in blocks (`%nctaid`).
#[inline(always)]
pub fn grid() -> Grid {
    Grid { dim: registers::grid_dim() }
}

/// The thread's index in the whole grid along x: `block index * threads per block + thread index`.
#[inline(always)]
pub fn index_1d() -> usize {
    let block = block();
    block.index.x as usize * block.dim.x as usize + index().x as usize
}

/// Threads in the whole grid along x: the stride of [`grid_stride`].
#[inline(always)]
pub fn count_1d() -> usize {
    grid().dim.x as usize * block().dim.x as usize
}

/// The indices below `n` that belong to this thread: its own index, then every grid's width after it.
///
/// The threads of the grid together visit each index once, whatever the grid's size, and the threads of a warp visit
/// neighbours.
#[inline(always)]
pub fn grid_stride(n: usize) -> GridStride {
    GridStride { next: index_1d(), stride: count_1d(), end: n }
}

/// The iterator of [`grid_stride`].
#[derive(Clone, Debug)]
pub struct GridStride {
    next: usize,
    stride: usize,
    end: usize,
}

impl Iterator for GridStride {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.next;
        if index < self.end {
            self.next = index + self.stride;
            Some(index)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_a_grid_visit_every_index_once() {
        for (threads, n) in [(1, 0), (1, 5), (4, 3), (4, 4), (7, 50), (256, 1000)] {
            let mut visits = vec![0; n];
            for thread in 0..threads {
                for index in (GridStride { next: thread, stride: threads, end: n }) {
                    visits[index] += 1;
                }
            }
            assert!(visits.iter().all(|&count| count == 1), "{threads} threads over {n}: {visits:?}");
        }
    }

    #[test]
    fn a_device_function_called_on_the_host_names_itself() {
        let calls: [(&str, fn()); 7] = [
            ("thread::index", || _ = index()),
            ("thread::block", || _ = block()),
            ("thread::grid", || _ = grid()),
            ("pdl::trigger", crate::pdl::trigger),
            ("pdl::wait", crate::pdl::wait),
            ("sense::sm_id", || _ = crate::sense::sm_id()),
            ("sense::global_timer", || _ = crate::sense::global_timer()),
        ];
        for (name, call) in calls {
            let message = *std::panic::catch_unwind(call).unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains(name), "{message}");
        }
    }
}
