//! Which limit a refused launch exceeds: the driver has one code for all of them.

use cuda_driver::{CUdeviceAttribute as Ask, CUfunctionAttribute, CuResult};

use crate::floor::{self, RawFunction};
use crate::launch::LaunchConfig;

/// What a device takes, and this kernel on it.
struct Limits {
    grid: [u32; 3],
    block: [u32; 3],
    threads: u32,
    kernel_threads: u32,
    dynamic_shared: u32,
    shared_after_asking: u32,
}

impl Limits {
    /// Asks the driver; `None` when it does not say.
    fn of(device: i32, function: RawFunction) -> Option<Limits> {
        let ask = |ask| floor::device_attribute(device, ask).ok().map(i32::unsigned_abs);
        let kernel = |ask| floor::function_attribute(function, ask).ok().map(i32::unsigned_abs);
        let axes = |asks: [Ask; 3]| Some([ask(asks[0])?, ask(asks[1])?, ask(asks[2])?]);
        Some(Limits {
            grid: axes([Ask::MAX_GRID_DIM_X, Ask::MAX_GRID_DIM_Y, Ask::MAX_GRID_DIM_Z])?,
            block: axes([Ask::MAX_BLOCK_DIM_X, Ask::MAX_BLOCK_DIM_Y, Ask::MAX_BLOCK_DIM_Z])?,
            threads: ask(Ask::MAX_THREADS_PER_BLOCK)?,
            kernel_threads: kernel(CUfunctionAttribute::MAX_THREADS_PER_BLOCK)?,
            dynamic_shared: kernel(CUfunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
            shared_after_asking: ask(Ask::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        })
    }
}

/// Describes each limit that the refused launch exceeds; empty if none is known.
pub fn exceeded(code: CuResult, launch: &LaunchConfig, device: i32, function: RawFunction) -> String {
    match code {
        CuResult::INVALID_VALUE | CuResult::LAUNCH_OUT_OF_RESOURCES => {
            Limits::of(device, function).map(|limits| limits.exceeded(launch)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

impl Limits {
    fn exceeded(&self, launch: &LaunchConfig) -> String {
        let blocks = along_the_axes("blocks in the grid", launch.grid.into(), self.grid);
        let mut threads = along_the_axes("threads in a block", launch.block.into(), self.block);
        // To an axis that is too long by itself the product adds nothing.
        if threads.is_empty() {
            threads.extend(self.in_a_block(launch.block.into()));
        }
        let found: Vec<_> =
            blocks.into_iter().chain(threads).chain(self.shared(launch.shared_bytes)).collect();
        found.join("; ")
    }

    fn in_a_block(&self, extents: [u32; 3]) -> Option<String> {
        let threads: u32 = extents.into_iter().fold(1, u32::saturating_mul);
        let most = self.kernel_threads;
        if threads > self.threads {
            Some(format!("{threads} threads in a block, and the device takes {}", self.threads))
        } else if threads > most {
            Some(format!("{threads} threads in a block, and this kernel's registers leave room for {most}"))
        } else {
            None
        }
    }

    fn shared(&self, bytes: u32) -> Option<String> {
        let (granted, most) = (self.dynamic_shared, self.shared_after_asking);
        let more = match bytes <= most {
            true => format!(" until more is asked for (cuFuncSetAttribute; the device has {most})"),
            false => format!("; the device has {most} for a block that asks"),
        };
        (bytes > granted).then(|| {
            format!("{bytes} bytes of dynamic shared memory, and this kernel may have {granted}{more}")
        })
    }
}

fn along_the_axes(what: &str, extents: [u32; 3], most: [u32; 3]) -> Vec<String> {
    let axes = extents.into_iter().zip(most).zip(["x", "y", "z"]);
    axes.filter_map(|((extent, most), axis)| match extent {
        0 => Some(format!("0 {what} along {axis}, and the least is 1")),
        extent if extent > most => Some(format!("{extent} {what} along {axis}, and the device takes {most}")),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Limits = Limits {
        grid: [2_147_483_647, 65_535, 65_535],
        block: [1024, 1024, 64],
        threads: 1024,
        kernel_threads: 512,
        dynamic_shared: 48 << 10,
        shared_after_asking: 227 << 10,
    };

    #[track_caller]
    fn says(launch: LaunchConfig, words: &str) {
        assert_eq!(H200.exceeded(&launch), words);
    }

    #[test]
    fn each_limit_is_named_with_what_was_asked_and_what_there_is() {
        let good = LaunchConfig::new(1, 512);
        let block = |block| LaunchConfig { block, ..good };
        says(good, "");
        says(LaunchConfig { grid: (2_147_483_647, 65_535, 65_535), shared_bytes: 48 << 10, ..good }, "");
        says(block((1025, 1, 1)), "1025 threads in a block along x, and the device takes 1024");
        says(block((33, 32, 1)), "1056 threads in a block, and the device takes 1024");
        says(block((1, 1, 65)), "65 threads in a block along z, and the device takes 64");
        says(block((1024, 1, 1)), "1024 threads in a block, and this kernel's registers leave room for 512");
        says(
            LaunchConfig { grid: (1, 65_536, 1), ..good },
            "65536 blocks in the grid along y, and the device takes 65535",
        );
        says(LaunchConfig::new(0, 32), "0 blocks in the grid along x, and the least is 1");
        says(block((32, 0, 1)), "0 threads in a block along y, and the least is 1");
        says(
            LaunchConfig { shared_bytes: 50 << 10, ..good },
            "51200 bytes of dynamic shared memory, and this kernel may have 49152 until more is asked for \
             (cuFuncSetAttribute; the device has 232448)",
        );
        says(
            LaunchConfig { shared_bytes: 300 << 10, ..good },
            "307200 bytes of dynamic shared memory, and this kernel may have 49152; the device has 232448 for a block that asks",
        );
    }

    #[test]
    fn limits_of_grid_and_block_are_all_named_and_no_product_overflows() {
        let both = LaunchConfig { block: (u32::MAX, u32::MAX, u32::MAX), ..LaunchConfig::new(0, 1) };
        let words = H200.exceeded(&both);
        assert!(
            words.starts_with("0 blocks in the grid along x") && words.matches("; ").count() == 3,
            "{words}"
        );
    }
}
