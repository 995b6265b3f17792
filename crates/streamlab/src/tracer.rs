//! Where the instrumented kernels of a traced submission leave their records: three words for each warp, two for each copy and
//! memset. It hands out addresses and makes no driver call.

use cuda_std::call::{Call, DeviceMemory, Location};
use cuda_std::trace::{WORDS, records};

use crate::launch::LaunchConfig;

/// When and where a warp ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warp {
    /// Its first reading of the device's clock (`%globaltimer`), ns.
    pub start_ns: u64,
    /// Its last one.
    pub end_ns: u64,
    /// Its multiprocessor (`%smid`).
    pub sm: u32,
}

/// When and where the warps of a launch ran.
#[derive(Clone, Debug)]
pub struct TracedLaunch {
    /// The launch: an index in the log's operations.
    pub operation: usize,
    /// Its shape.
    pub config: LaunchConfig,
    /// Warps of a block.
    pub warps_per_block: usize,
    /// The warps of the first block, then those of the next.
    pub warps: Vec<Warp>,
}

/// When a copy or a memset ran: from its turn in its stream, so that waiting for a copy engine is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedTransfer {
    /// The copy or the memset: an index in the log's operations.
    pub operation: usize,
    /// The device's clock (`%globaltimer`) before it, ns.
    pub start_ns: u64,
    /// The clock after it.
    pub end_ns: u64,
}

/// A word of the tracer's buffer, for one reading of the clock.
#[derive(Debug)]
pub(crate) struct Reading {
    address: u64,
}

// SAFETY: the tracer gives each reading a word of its buffer, which the context frees only after the work is done.
unsafe impl DeviceMemory<u64> for Reading {
    fn location(&self) -> Location {
        // No log has a timestamp, so nobody asks for the buffer.
        Location { buffer: Location::FOREIGN, address: self.address, offset_bytes: 0, elements: 1 }
    }
}

/// The buffer of the records, and what was placed in it.
#[derive(Debug)]
pub(crate) struct Tracer {
    memory: u64,
    address: u64,
    room: usize,
    needed: usize,
    launches: Vec<Placed>,
    /// The operation of each copy and memset, and its record.
    transfers: Vec<(Option<usize>, usize)>,
    /// What was placed last, until its operation is noted.
    unnoted: Option<Placement>,
}

#[derive(Debug)]
struct Placed {
    /// `None` for what was captured and not launched.
    operation: Option<usize>,
    config: LaunchConfig,
    first: usize,
}

/// What has records: a launch or a transfer, by its index.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placement {
    Launch(usize),
    Transfer(usize),
}

impl Tracer {
    /// Places records in a buffer.
    pub fn new(buffer: &impl DeviceMemory<u64>) -> Self {
        let Location { buffer: memory, address, elements, .. } = buffer.location();
        let (launches, transfers) = (Vec::new(), Vec::new());
        Tracer { memory, address, room: elements / WORDS, needed: 0, launches, transfers, unnoted: None }
    }

    /// Returns the buffer of the records, by its identity.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the call of the instrumented kernel. A launch for which there is no room goes untraced, and is only counted.
    pub fn place<'a>(&mut self, config: &LaunchConfig, call: Call<'a>) -> Call<'a> {
        let first = self.needed;
        self.needed = self.needed.saturating_add(records(config.grid, config.block));
        self.unnoted = Some(Placement::Launch(self.launches.len()));
        self.launches.push(Placed { operation: None, config: *config, first });
        if self.needed > self.room {
            return call;
        }
        call.traced(self.word(first, 0))
    }

    /// Returns where the clock's readings before and after a copy or memset go.
    pub fn place_transfer(&mut self) -> Option<[Reading; 2]> {
        let record = self.needed;
        self.needed = self.needed.saturating_add(1);
        self.unnoted = Some(Placement::Transfer(self.transfers.len()));
        self.transfers.push((None, record));
        (self.needed <= self.room).then(|| [0, 1].map(|word| Reading { address: self.word(record, word) }))
    }

    /// Returns what was placed since the last operation was noted.
    pub fn take_unnoted(&mut self) -> Option<Placement> {
        self.unnoted.take()
    }

    /// Says which operation of the log has these records.
    pub fn noted(&mut self, placement: Placement, operation: usize) {
        match placement {
            Placement::Launch(at) => self.launches[at].operation = Some(operation),
            Placement::Transfer(at) => self.transfers[at].0 = Some(operation),
        }
    }

    /// Returns the words that all records need, where that is more than there is room for.
    pub fn lacks(&self) -> Option<usize> {
        (self.needed > self.room).then_some(self.needed.saturating_mul(WORDS))
    }

    /// Returns how many words the records take.
    pub fn words(&self) -> usize {
        WORDS * self.needed
    }

    /// Reads the records of launches and of transfers.
    pub fn read(&self, words: &[u64]) -> (Vec<TracedLaunch>, Vec<TracedTransfer>) {
        let warp = |record: &[u64]| Warp { start_ns: record[0], end_ns: record[1], sm: record[2] as u32 };
        let launches = self.launches.iter().filter_map(|&Placed { operation, config, first }| {
            let words = &words[WORDS * first..][..WORDS * records(config.grid, config.block)];
            let warps = words.chunks_exact(WORDS).map(warp).collect();
            let warps_per_block = records((1, 1, 1), config.block);
            Some(TracedLaunch { operation: operation?, config, warps_per_block, warps })
        });
        let transfers = self.transfers.iter().filter_map(|&(operation, record)| {
            let (start_ns, end_ns) = (words[WORDS * record], words[WORDS * record + 1]);
            Some(TracedTransfer { operation: operation?, start_ns, end_ns })
        });
        (launches.collect(), transfers.collect())
    }

    /// The address of a word of a record.
    fn word(&self, record: usize, word: usize) -> u64 {
        self.address + ((record * WORDS + word) * size_of::<u64>()) as u64
    }
}
