//! When and where the warps of a submission ran: it is run once with each kernel's traced twin in the kernel's place.

use cuda_std::call::{Call, DeviceMemory};
use cuda_std::trace::{WORDS, records};

use super::{Buffer, Context, Error, Launch, Log};

/// Records that there is room for before it is known how many a submission needs: 6 MiB.
const FIRST_ROOM: usize = 1 << 18;

/// What a submission did, and when its kernels ran.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was submitted, with the kernels' own names.
    pub log: Log,
    /// Its launches, in order.
    pub launches: Vec<TracedLaunch>,
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
    address: u64,
    room: usize,
    needed: usize,
    launches: Vec<Placed>,
}

#[derive(Debug)]
struct Placed {
    operation: usize,
    warps_per_block: usize,
    first: usize,
    records: usize,
}

impl Context {
    /// Runs `submission`, with each kernel's traced twin in its place, waits for it, and returns what it submitted and when
    /// its kernels ran; before that, runs it `warmups` times the same way. It is run once more when there was too little
    /// room for the records.
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
                return Ok(Trace { log, launches: tracer.read(&buffer)? });
            }
        }
    }

    #[track_caller]
    fn run_traced(
        &self,
        buffer: &Buffer<'_, u64>,
        submission: impl Fn() -> Result<(), Error>,
    ) -> Result<(Log, Tracer), Error> {
        let (address, room) = (buffer.location().address, buffer.len() / WORDS);
        self.tracer.replace(Some(Tracer { address, room, needed: 0, launches: Vec::new() }));
        let log = self.logged(submission);
        let tracer = self.tracer.take();
        let log = log?;
        self.synchronize()?;
        Ok((log, tracer.unwrap_or(Tracer { address, room, needed: 0, launches: Vec::new() })))
    }

    /// The call as it is to be launched: of the traced twin, while a submission is traced.
    pub(super) fn to_trace<'a>(&self, launch: &Launch, call: Call<'a>) -> Call<'a> {
        match self.tracer.borrow_mut().as_mut() {
            Some(tracer) => tracer.place(self.noted(), launch, call),
            None => call,
        }
    }
}

impl Tracer {
    /// A launch for which there is no room goes untraced, and is only counted.
    fn place<'a>(&mut self, operation: usize, launch: &Launch, call: Call<'a>) -> Call<'a> {
        let (first, records) = (self.needed, records(launch.grid, launch.block));
        let warps_per_block = records_of_block(launch);
        self.needed = self.needed.saturating_add(records);
        self.launches.push(Placed { operation, warps_per_block, first, records });
        if self.needed > self.room {
            return call;
        }
        call.traced(self.address + (first * WORDS * size_of::<u64>()) as u64)
    }

    fn read(&self, buffer: &Buffer<'_, u64>) -> Result<Vec<TracedLaunch>, Error> {
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
        Ok(launches.collect())
    }
}

fn records_of_block(launch: &Launch) -> usize {
    records((1, 1, 1), launch.block)
}
