//! NVIDIA Tesla T4. Sources are abbreviated as in [`super`]; none of its figures was measured here. *Microbenchmarks*
//! are those of Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking" (2019).

use super::{Bus, Card, FrontEnd, H200, HostCosts, MemorySystem, Sm};
use crate::segment::{Class, Cost};

/// NVIDIA Tesla T4.
pub const T4: Card = Card {
    name: "Tesla T4 (virtual)",
    capability: (7, 5),
    // As for the H200: the driver is the same.
    driver_version: H200.driver_version,
    newest_ptx: H200.newest_ptx,
    // Datasheet: 2,560 cores, 64 a multiprocessor.
    sms: 40,
    sm: Sm {
        // Datasheet: boost. A real T4 is often slower: its 70 W bind it.
        clock_mhz: 1590,
        // Guide, compute capability 7.5, for all of these.
        schedulers: 4,
        threads: 1024,
        blocks: 16,
        registers: 65_536,
        registers_per_thread: 255,
        shared_bytes: 64 << 10,
        shared_bytes_per_block: 48 << 10,
        shared_bytes_per_block_optin: 64 << 10,
        shared_bytes_reserved: 0,
        costs,
    },
    memory: MemorySystem {
        // Datasheet: 16 GB; driver: 15,360 MiB.
        bytes: 15_360 << 20,
        reserved_bytes: 300 << 20,
        // Driver, and datasheet: 320 GB/s.
        clock_mhz: 5001,
        bus_bits: 256,
        // Microbenchmarks: 220 to 250 GB/s of the datasheet's 320 are reached.
        gb_per_s: 240,
        // Microbenchmarks report 616 ns for a miss of everything; without the misses of the translation, estimated.
        latency_cycles: 500,
        // Driver.
        l2_bytes: 4 << 20,
        // Microbenchmarks.
        l2_gb_per_s: 1270,
        l2_latency_cycles: 188,
        issue_latency_cycles: 32,
    },
    bus: Bus {
        // Driver.
        engines: 3,
        // PCIe 3.0 with 16 lanes: 15.8 GB/s, of which about four fifths are reached; estimated for pageable memory.
        pinned_gb_per_s: 12,
        pageable_gb_per_s: 6,
        copy_ns: 8000,
        // As for the H200: the driver's.
        staging_bytes: H200.bus.staging_bytes,
    },
    // Estimated: the H200's, at 1.5 times the time.
    front: FrontEnd {
        submission_ns: 3000,
        kernel_start_ns: 1300,
        kernel_end_ns: 800,
        block_interval_ps: 2000,
        block_start_ns: 150,
        cross_stream_ns: 500,
        timestamp_ns: 1900,
        // Measured on real T4s by others: about a microsecond.
        global_timer_ns: 1024,
    },
    // The host is the same.
    host: HostCosts { ..H200.host },
};

/// Issue from the guide's throughput table (64 single precision operations a cycle and multiprocessor, and 64 integer ones
/// beside them); latency from the microbenchmarks; the subroutines as on the H200.
fn costs(class: Class) -> Cost {
    let (issue, latency) = match class {
        Class::Integer => (2, 4),
        Class::Multiply => (2, 5),
        Class::Integer64 => (4, 8),
        Class::Multiply64 => (8, 18),
        Class::Single => (2, 4),
        Class::Double => (64, 48),
        Class::Convert => (8, 14),
        Class::SingleDivision => (20, 60),
        Class::DoubleDivision => (600, 600),
        Class::Division => (30, 140),
        Class::Division64 => (140, 330),
        Class::Shared => (4, 19),
        Class::Local => (4, 32),
        Class::Global => (4, 0),
        Class::Warp => (4, 22),
        Class::Barrier => (8, 14),
        Class::Branch => (1, 21),
        Class::Special => (1, 10),
    };
    Cost { issue, latency }
}
