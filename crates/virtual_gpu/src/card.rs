//! What a card is: its limits and its times, each figure with its source. Plain data; nothing here runs.
//!
//! Units are in the names. Sources, as the cards' files abbreviate them: *guide*, NVIDIA's CUDA C++ Programming Guide
//! (compute capabilities, arithmetic throughput); *datasheet*, the product's; *driver*, what the driver reports for the
//! real card; *measured*, on the real card with the programs that the file names; *estimated*, with the reason.

mod h200;
mod t4;

pub use h200::H200;
pub use t4::T4;

use crate::segment::{Class, Cost, CostTable};
use std::str::FromStr;

/// A card.
#[derive(Clone, Debug)]
pub struct Card {
    /// The name that the driver reports; it says that the card is a virtual one.
    pub name: &'static str,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// The newest CUDA release that its driver claims, as `cuDriverGetVersion` writes it.
    pub driver_version: i32,
    /// The newest PTX `.version` that its driver compiles, major and minor.
    pub newest_ptx: (u32, u32),
    /// What a multiprocessor is.
    pub sm: Sm,
    /// Multiprocessors.
    pub sms: u32,
    /// Caches and memory.
    pub memory: MemorySystem,
    /// Copies over the bus.
    pub bus: Bus,
    /// What starting and ending things takes.
    pub front: FrontEnd,
    /// What the driver's calls take on the host.
    pub host: HostCosts,
}

/// A multiprocessor's limits, and the speed of its instructions.
#[derive(Clone, Debug)]
pub struct Sm {
    /// Clock under load, MHz.
    pub clock_mhz: u64,
    /// Schedulers: each issues one instruction of one warp a cycle.
    pub schedulers: u32,
    /// Resident threads.
    pub threads: u32,
    /// Resident blocks.
    pub blocks: u32,
    /// Registers of 32 bits, for all resident blocks together and for one.
    pub registers: u32,
    /// Registers that one thread can have.
    pub registers_per_thread: u32,
    /// Shared memory for all resident blocks together, bytes.
    pub shared_bytes: u32,
    /// Shared memory that a block gets without asking, bytes.
    pub shared_bytes_per_block: u32,
    /// Shared memory that a block can ask for, bytes.
    pub shared_bytes_per_block_optin: u32,
    /// Shared memory that the system takes from each resident block, bytes.
    pub shared_bytes_reserved: u32,
    /// What an instruction of each class costs.
    pub costs: fn(Class) -> Cost,
}

/// Caches and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemorySystem {
    /// Device memory, bytes.
    pub bytes: u64,
    /// Device memory that the driver itself takes, bytes.
    pub reserved_bytes: u64,
    /// Peak clock of the memory as the driver reports it, MHz.
    pub clock_mhz: u32,
    /// Width of the bus, bits.
    pub bus_bits: u32,
    /// Rate that reads and writes together reach, GB/s.
    pub gb_per_s: u64,
    /// From a load to the use of its value when the L2 does not have it, in the multiprocessor's cycles.
    pub latency_cycles: u64,
    /// The L2 cache, bytes.
    pub l2_bytes: u64,
    /// Rate of the L2, GB/s.
    pub l2_gb_per_s: u64,
    /// From a load to the use of its value when the L2 has it, in the multiprocessor's cycles.
    pub l2_latency_cycles: u64,
    /// From the issue of an access to its arrival at what other multiprocessors can see, in cycles.
    pub issue_latency_cycles: u64,
}

/// Copies between host and device.
#[derive(Clone, Debug, PartialEq)]
pub struct Bus {
    /// Copy engines that the driver reports.
    pub engines: u32,
    /// Rate from and to page-locked memory in each direction, GB/s.
    pub pinned_gb_per_s: u64,
    /// Rate from and to pageable memory, through the driver's staging buffer, GB/s.
    pub pageable_gb_per_s: u64,
    /// What a copy takes besides, ns.
    pub copy_ns: u64,
    /// Bytes up to which a copy from pageable memory returns with its data merely staged.
    pub staging_bytes: u64,
}

/// What the card's front end takes to start and end things.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontEnd {
    /// From the driver's call to the card's seeing it, ns.
    pub submission_ns: u64,
    /// From a kernel's turn to its first block's start, ns.
    pub kernel_start_ns: u64,
    /// From a kernel's last block's end, its writes included, to its being complete, ns.
    pub kernel_end_ns: u64,
    /// From one block's start to the next one's, over the whole card, ps.
    pub block_interval_ps: u64,
    /// From a block's being placed to its first instruction, ns.
    pub block_start_ns: u64,
    /// What waiting for another stream's work takes beyond that work's end, ns.
    pub cross_stream_ns: u64,
    /// What the record of an event with a timestamp takes, ns.
    pub timestamp_ns: u64,
    /// Step of `%globaltimer`, ns.
    pub global_timer_ns: u64,
}

/// What the driver's calls take on the host, ns. The virtual host does nothing between its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCosts {
    /// A launch.
    pub launch_ns: u64,
    /// A launch of a graph, and for each of its nodes.
    pub graph_launch_ns: u64,
    /// What each node of the graph adds.
    pub graph_node_ns: u64,
    /// A record of an event.
    pub record_ns: u64,
    /// A stream's wait for an event.
    pub wait_ns: u64,
    /// A query, and what costs about as much.
    pub query_ns: u64,
    /// A copy or a fill that is enqueued.
    pub copy_ns: u64,
    /// An allocation or a release of device memory.
    pub allocate_ns: u64,
    /// Making or destroying a handle.
    pub handle_ns: u64,
    /// From the end of the work that the host waits for to the return of the call.
    pub wake_ns: u64,
}

/// Threads in a warp, on every card.
pub const WARP: u32 = 32;

impl Card {
    /// What each class of instruction costs.
    pub fn costs(&self) -> CostTable {
        CostTable::new(self.sm.costs)
    }

    /// Compute capability times ten, as in `sm_90`.
    pub fn sm_number(&self) -> u32 {
        self.capability.0 * 10 + self.capability.1
    }

    /// Whether kernels may start before the one ahead of them has ended (programmatic dependent launch; guide: from 9.0).
    pub fn has_programmatic_launch(&self) -> bool {
        self.capability.0 >= 9
    }
}

/// No card of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no virtual card `{0}`: choose h200 or t4")]
pub struct UnknownCard(
    /// The name that was asked for.
    pub String,
);

impl FromStr for Card {
    type Err = UnknownCard;

    /// The card of a short name: `h200` or `t4`.
    fn from_str(name: &str) -> Result<Self, UnknownCard> {
        match name {
            "h200" => Ok(H200),
            "t4" => Ok(T4),
            _ => Err(UnknownCard(name.to_owned())),
        }
    }
}

impl Default for Card {
    fn default() -> Self {
        H200
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_found_by_its_short_name() {
        assert_eq!("h200".parse::<Card>().unwrap().name, H200.name);
        assert_eq!("t4".parse::<Card>().unwrap().name, T4.name);
        assert_eq!(
            "a100".parse::<Card>().unwrap_err().to_string(),
            "there is no virtual card `a100`: choose h200 or t4"
        );
    }

    #[test]
    fn the_figures_of_each_card_agree_with_each_other() {
        for card in [H200, T4] {
            let Card { sm, memory, .. } = &card;
            assert!(sm.shared_bytes_per_block <= sm.shared_bytes_per_block_optin);
            assert!(sm.shared_bytes_per_block_optin + sm.shared_bytes_reserved <= sm.shared_bytes);
            assert_eq!(sm.threads % WARP, 0);
            // Twice a cycle, as double data rate is.
            let peak_gb_per_s = u64::from(memory.clock_mhz) * u64::from(memory.bus_bits) / 4000;
            assert!(memory.gb_per_s < peak_gb_per_s && memory.gb_per_s * 10 > peak_gb_per_s * 7);
            assert!(memory.l2_latency_cycles < memory.latency_cycles);
            assert!(memory.issue_latency_cycles < memory.l2_latency_cycles);
            assert!(memory.gb_per_s < memory.l2_gb_per_s);
            for class in Class::ALL {
                assert!(card.costs().of(class).issue > 0, "{class:?}");
            }
        }
    }
}
