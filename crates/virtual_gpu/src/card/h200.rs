//! NVIDIA H200 (SXM, 141 GB). Sources are abbreviated as in [`super`].
//!
//! *Measured* figures are of one H200 (driver 580, CUDA 13.0, 1,980 MHz), medians of 9 to 15 runs of CUDA C++ programs:
//! empty kernels and events in a stream that a running kernel holds back until all is queued; chains of one instruction
//! (one warp for the latency, 32 warps for the issue); a chase of pointers 128 bytes apart in random order; streams of
//! reads, of reads and writes, and sums of four buffers; copies of 4 B to 256 MiB; 400 calls of a kind on the host.

use super::{Bus, Card, FrontEnd, HostCosts, MemorySystem, Sm};
use crate::segment::{Class, Cost};

/// NVIDIA H200.
pub const H200: Card = Card {
    name: "NVIDIA H200 (virtual)",
    capability: (9, 0),
    // Driver 580.
    driver_version: 13_000,
    // Driver 580 refuses 9.1.
    newest_ptx: (9, 0),
    // Datasheet.
    sms: 132,
    sm: Sm {
        // Driver; the clock under load as nvidia-smi shows it is the same.
        clock_mhz: 1980,
        // Guide, compute capability 9.0, for all of these.
        schedulers: 4,
        threads: 2048,
        blocks: 32,
        registers: 65_536,
        registers_per_thread: 255,
        shared_bytes: 228 << 10,
        shared_bytes_per_block: 48 << 10,
        shared_bytes_per_block_optin: 227 << 10,
        shared_bytes_reserved: 1 << 10,
        costs,
    },
    memory: MemorySystem {
        // Driver: 143,771 MiB, of which it takes some itself (estimated from nvidia-smi on an idle card).
        bytes: 143_771 << 20,
        reserved_bytes: 600 << 20,
        // Driver. With the bus it makes the datasheet's 4.8 TB/s.
        clock_mhz: 3201,
        bus_bits: 6144,
        // Measured: a device-to-device copy of 256 MiB and a sum of four 256 MiB buffers reach 4.2, a fill 4.4 TB/s.
        gb_per_s: 4300,
        // Measured: 598 cycles a step in 128 MiB, 680 in 1 GiB, where the address translation misses too.
        latency_cycles: 600,
        // Driver.
        l2_bytes: 60 << 20,
        // Measured: the sum of four 8 MiB buffers moves 40 MiB in 9.05 us, of which some 2 us are start and end.
        l2_gb_per_s: 6500,
        // Measured: 281 cycles a step in 16 KiB (which its load reads from the L2), 325 in 24 MiB.
        l2_latency_cycles: 300,
        // Estimated: the pipeline of the L1, whose latency on a hit is about as long (published microbenchmarks of Hopper).
        issue_latency_cycles: 32,
    },
    bus: Bus {
        // Driver.
        engines: 3,
        // Measured: 256 MiB in 4.84 ms in either direction; both directions at once take as long as one.
        pinned_gb_per_s: 55,
        // Measured: 4 MiB in 356 us to the device and 445 us from it.
        pageable_gb_per_s: 11,
        // Measured: 1 MiB in 25 us, of which 19 are its bytes.
        copy_ns: 6000,
        // CUDA's API synchronization behaviour: transfers up to 64 KB.
        staging_bytes: 64 << 10,
    },
    front: FrontEnd {
        // Measured: launch and synchronize takes 9.0 us, of which 4.4 are the call, 1.3 the kernel and 0.5 the return.
        submission_ns: 2000,
        // Measured: 1.34 us from one empty kernel to the next in a stream, of which 0.58 remain when the second is
        // launched programmatically: so much is the end of the first.
        kernel_start_ns: 820,
        kernel_end_ns: 520,
        // Measured: empty grids of 16,384 and 65,536 blocks take 11.3 and 40.8 us.
        block_interval_ps: 600,
        // Estimated: what is left of the first figure for an empty kernel is below what was measured.
        block_start_ns: 100,
        // Measured: 3.42 us for two empty kernels that wait for each other's stream, against 2.7 in one.
        cross_stream_ns: 360,
        // Measured: from one record to the next in the same stream.
        timestamp_ns: 1280,
        // Measured.
        global_timer_ns: 32,
    },
    host: HostCosts {
        // Measured, but for the last two of these: a call that makes a handle and destroys it takes 0.56 us.
        launch_ns: 4350,
        // Measured: 3.9 us for a graph of 6 kernels, 5.6 for one of 22.
        graph_launch_ns: 3300,
        graph_node_ns: 100,
        record_ns: 1140,
        wait_ns: 270,
        query_ns: 400,
        copy_ns: 1250,
        // Measured: 85 us for allocating and freeing 4 MiB.
        allocate_ns: 42_000,
        handle_ns: 280,
        wake_ns: 500,
    },
};

/// Measured, where not said otherwise; the guide's throughput table agrees with the issue figures that it has.
fn costs(class: Class) -> Cost {
    let (issue, latency) = match class {
        // From a comparison with a selection: 8.2 and 4.1 for the two.
        Class::Integer => (2, 4),
        Class::Multiply => (2, 4),
        Class::Integer64 => (3, 5),
        Class::Multiply64 => (8, 16),
        // Issue from the guide: 128 a cycle and multiprocessor.
        Class::Single => (1, 4),
        Class::Double => (2, 8),
        // 23.1 and 8.3 for a conversion and its way back; population count takes 17 and 8.
        Class::Convert => (4, 12),
        Class::SingleDivision => (17, 57),
        Class::DoubleDivision => (25, 124),
        Class::Division => (29, 136),
        Class::Division64 => (132, 313),
        Class::Shared => (4, 29),
        // Estimated: local memory lies in the L1, which is the same memory as shared memory.
        Class::Local => (4, 33),
        // As shared memory: the same unit issues it. The latency is that of the memory system.
        Class::Global => (4, 0),
        Class::Warp => (4, 24),
        // 14 cycles for one warp, 76 for 32 of them.
        Class::Barrier => (8, 14),
        // A loop of two additions, a comparison and a branch takes 29 cycles.
        Class::Branch => (1, 21),
        Class::Special => (1, 10),
    };
    Cost { issue, latency }
}
