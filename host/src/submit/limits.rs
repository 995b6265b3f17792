//! Which limit it is that a refused launch goes beyond: the driver has one code for all of them.

use cuda_driver::{CUfunction, CUfunctionAttribute, CuResult};
use cust::context::CurrentContext;
use cust::device::{Device, DeviceAttribute as Ask};

use super::Launch;

/// What a card takes, and this kernel on it.
struct Limits {
    grid: [u32; 3],
    block: [u32; 3],
    threads: u32,
    kernel_threads: u32,
    dynamic_shared: u32,
    shared_after_asking: u32,
}

impl Limits {
    /// Asks the driver; nothing when it does not say.
    fn of(function: CUfunction) -> Option<Limits> {
        let device = CurrentContext::get_device().ok()?;
        let axes =
            |asks: [Ask; 3]| Some([card(device, asks[0])?, card(device, asks[1])?, card(device, asks[2])?]);
        Some(Limits {
            grid: axes([Ask::MaxGridDimX, Ask::MaxGridDimY, Ask::MaxGridDimZ])?,
            block: axes([Ask::MaxBlockDimX, Ask::MaxBlockDimY, Ask::MaxBlockDimZ])?,
            threads: card(device, Ask::MaxThreadsPerBlock)?,
            kernel_threads: kernel(function, CUfunctionAttribute::MAX_THREADS_PER_BLOCK)?,
            dynamic_shared: kernel(function, CUfunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
            shared_after_asking: device_shared_after_asking(device)?,
        })
    }
}

fn card(device: Device, ask: Ask) -> Option<u32> {
    device.get_attribute(ask).ok().map(i32::unsigned_abs)
}

/// `cust` does not know this attribute.
fn device_shared_after_asking(device: Device) -> Option<u32> {
    let mut value = 0;
    // SAFETY: `value` is there to be written.
    let answer = unsafe {
        cuda_driver::cuDeviceGetAttribute(
            &mut value,
            cuda_driver::CUdeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            cuda_driver::CUdevice(device.as_raw()),
        )
    };
    answer.is_success().then_some(value.unsigned_abs())
}

fn kernel(function: CUfunction, attribute: CUfunctionAttribute) -> Option<u32> {
    let mut value = 0;
    // SAFETY: the function is of a loaded module, and `value` is there to be written.
    let answer = unsafe { cuda_driver::cuFuncGetAttribute(&mut value, attribute, function) };
    answer.is_success().then_some(value.unsigned_abs())
}

/// The limits that a launch goes beyond that was refused with this code, in words; empty when there is none, or the driver
/// does not say.
pub(super) fn broken(code: CuResult, launch: &Launch, function: CUfunction) -> String {
    match code {
        CuResult::INVALID_VALUE | CuResult::LAUNCH_OUT_OF_RESOURCES => {
            Limits::of(function).map(|limits| limits.broken(launch)).unwrap_or_default()
        }
        _ => String::new(),
    }
}

impl Limits {
    fn broken(&self, launch: &Launch) -> String {
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
            Some(format!("{threads} threads in a block, and the card takes {}", self.threads))
        } else if threads > most {
            Some(format!("{threads} threads in a block, and this kernel's registers leave room for {most}"))
        } else {
            None
        }
    }

    fn shared(&self, bytes: u32) -> Option<String> {
        let (granted, most) = (self.dynamic_shared, self.shared_after_asking);
        let more = match bytes <= most {
            true => format!(" until more is asked for (cuFuncSetAttribute; the card has {most})"),
            false => format!("; the card has {most} for a block that asks"),
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
        extent if extent > most => Some(format!("{extent} {what} along {axis}, and the card takes {most}")),
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
    fn says(launch: Launch, words: &str) {
        assert_eq!(H200.broken(&launch), words);
    }

    #[test]
    fn each_limit_is_named_with_what_was_asked_and_what_there_is() {
        let good = Launch::new(1, 512);
        let block = |block| Launch { block, ..good };
        says(good, "");
        says(Launch { grid: (2_147_483_647, 65_535, 65_535), shared_bytes: 48 << 10, ..good }, "");
        says(block((1025, 1, 1)), "1025 threads in a block along x, and the card takes 1024");
        says(block((33, 32, 1)), "1056 threads in a block, and the card takes 1024");
        says(block((1, 1, 65)), "65 threads in a block along z, and the card takes 64");
        says(block((1024, 1, 1)), "1024 threads in a block, and this kernel's registers leave room for 512");
        says(
            Launch { grid: (1, 65_536, 1), ..good },
            "65536 blocks in the grid along y, and the card takes 65535",
        );
        says(Launch::new(0, 32), "0 blocks in the grid along x, and the least is 1");
        says(block((32, 0, 1)), "0 threads in a block along y, and the least is 1");
        says(
            Launch { shared_bytes: 50 << 10, ..good },
            "51200 bytes of dynamic shared memory, and this kernel may have 49152 until more is asked for \
             (cuFuncSetAttribute; the card has 232448)",
        );
        says(
            Launch { shared_bytes: 300 << 10, ..good },
            "307200 bytes of dynamic shared memory, and this kernel may have 49152; the card has 232448 for a block that asks",
        );
    }

    #[test]
    fn limits_of_grid_and_block_are_all_named_and_no_product_overflows() {
        let both = Launch { block: (u32::MAX, u32::MAX, u32::MAX), ..Launch::new(0, 1) };
        let words = H200.broken(&both);
        assert!(
            words.starts_with("0 blocks in the grid along x") && words.matches("; ").count() == 3,
            "{words}"
        );
    }
}
