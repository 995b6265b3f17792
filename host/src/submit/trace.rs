//! When and where the warps of a submission ran: it is run once with each kernel's traced twin in the kernel's place, and a
//! reading of the clock before and after each copy and fill.

use cuda_std::call::{Call, DeviceMemory};
use cuda_std::trace::{WORDS, records};

use super::stamp::Reading;
use super::{Buffer, Context, Error, Launch, Log};

/// Records that there is room for before it is known how many a submission needs: 6 MiB.
const FIRST_ROOM: usize = 1 << 18;

/// What a submission did, and when its kernels, copies and fills ran.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was submitted, with the kernels' own names.
    pub log: Log,
    /// Its launches, in order.
    pub launches: Vec<TracedLaunch>,
    /// Its copies and fills, in order.
    pub transfers: Vec<TracedTransfer>,
}

/// When and where the warps of a launch ran.
#[derive(Clone, Debug)]
pub struct TracedLaunch {
    /// The launch: an index in [`Log::entries`].
    pub operation: usize,
    /// Warps of a block.
    pub warps_per_block: usize,
    /// The warps of the first block, then those of the next.
    pub warps: Vec<Warp>,
}

/// When a copy or a fill ran: from its turn in its stream, so that waiting for a copy engine is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedTransfer {
    /// The copy or the fill: an index in [`Log::entries`].
    pub operation: usize,
    /// The card's clock (`%globaltimer`) before it, ns.
    pub start_ns: u64,
    /// The clock behind it.
    pub end_ns: u64,
}

/// When and where a warp ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warp {
    /// Its first reading of the card's clock (`%globaltimer`), ns.
    pub start_ns: u64,
    /// Its last one.
    pub end_ns: u64,
    /// Its multiprocessor (`%smid`).
    pub sm: u32,
}

/// Where the twins of a submission leave their records.
#[derive(Debug)]
pub(super) struct Tracer {
    memory: u64,
    address: u64,
    room: usize,
    needed: usize,
    launches: Vec<Placed>,
    /// The operation of each copy and fill, and its record.
    transfers: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Placed {
    operation: usize,
    warps_per_block: usize,
    first: usize,
    records: usize,
}

impl Context {
    /// Runs `submission`, with each kernel's traced twin in its place and the clock read around each copy and fill that is
    /// put into a stream, waits for it, and returns what it submitted and when that ran; before that, runs it `warmups`
    /// times the same way. It is run once more when there was too little room for the records.
    ///
    /// # Errors
    ///
    /// The submission's own, and any error of the work.
    #[track_caller]
    pub fn traced(&self, warmups: u32, submission: impl Fn() -> Result<(), Error>) -> Result<Trace, Error> {
        let mut buffer = Buffer::<u64>::new(self, "trace", WORDS * FIRST_ROOM)?;
        let mut left = warmups;
        loop {
            let (log, tracer) = self.run_traced(&buffer, &submission)?;
            if tracer.needed > tracer.room {
                drop(buffer);
                buffer = Buffer::new(self, "trace", WORDS * tracer.needed)?;
            } else if left > 0 {
                left -= 1;
            } else {
                return tracer.read(log, &buffer);
            }
        }
    }

    #[track_caller]
    fn run_traced(
        &self,
        buffer: &Buffer<'_, u64>,
        submission: impl Fn() -> Result<(), Error>,
    ) -> Result<(Log, Tracer), Error> {
        self.tracer.replace(Some(Tracer::new(buffer)));
        let log = self.logged(submission);
        let tracer = self.tracer.take();
        let log = log?;
        self.synchronize()?;
        Ok((log, tracer.unwrap_or(Tracer::new(buffer))))
    }

    /// The call as it is to be launched: of the traced twin, while a submission is traced.
    pub(super) fn to_trace<'a>(&self, launch: &Launch, call: Call<'a>) -> Call<'a> {
        match self.tracer.borrow_mut().as_mut() {
            Some(tracer) => tracer.place(self.noted(), launch, call),
            None => call,
        }
    }

    /// Where the clock's readings around a copy or a fill go that is noted next, while a submission is traced.
    pub(super) fn place_transfer(&self) -> Option<[Reading; 2]> {
        self.tracer.borrow_mut().as_mut()?.place_transfer(self.noted())
    }
}

impl Tracer {
    fn new(buffer: &Buffer<'_, u64>) -> Self {
        let (at, room) = (buffer.location(), buffer.len() / WORDS);
        Tracer {
            memory: at.buffer,
            address: at.address,
            room,
            needed: 0,
            launches: Vec::new(),
            transfers: Vec::new(),
        }
    }

    /// The buffer of the records, by its identity.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// A launch for which there is no room goes untraced, and is only counted.
    fn place<'a>(&mut self, operation: usize, launch: &Launch, call: Call<'a>) -> Call<'a> {
        let (first, records) = (self.needed, records(launch.grid, launch.block));
        let warps_per_block = records_of_block(launch);
        self.needed = self.needed.saturating_add(records);
        self.launches.push(Placed { operation, warps_per_block, first, records });
        if self.needed > self.room {
            return call;
        }
        call.traced(self.word(first, 0))
    }

    /// As for a launch, with one record.
    fn place_transfer(&mut self, operation: usize) -> Option<[Reading; 2]> {
        let record = self.needed;
        self.needed = self.needed.saturating_add(1);
        self.transfers.push((operation, record));
        (self.needed <= self.room).then(|| [0, 1].map(|word| Reading { address: self.word(record, word) }))
    }

    /// The address of a word of a record.
    fn word(&self, record: usize, word: usize) -> u64 {
        self.address + ((record * WORDS + word) * size_of::<u64>()) as u64
    }

    fn read(&self, log: Log, buffer: &Buffer<'_, u64>) -> Result<Trace, Error> {
        let mut words = vec![0; WORDS * self.needed];
        buffer.copy_to(&mut words)?;
        let launches = self.launches.iter().map(|placed| TracedLaunch {
            operation: placed.operation,
            warps_per_block: placed.warps_per_block,
            warps: words[WORDS * placed.first..][..WORDS * placed.records]
                .chunks_exact(WORDS)
                .map(|record| Warp { start_ns: record[0], end_ns: record[1], sm: record[2] as u32 })
                .collect(),
        });
        let transfers = self.transfers.iter().map(|&(operation, record)| TracedTransfer {
            operation,
            start_ns: words[WORDS * record],
            end_ns: words[WORDS * record + 1],
        });
        Ok(Trace { log, launches: launches.collect(), transfers: transfers.collect() })
    }
}

fn records_of_block(launch: &Launch) -> usize {
    records((1, 1, 1), launch.block)
}
