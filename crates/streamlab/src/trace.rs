//! A submission that is run with instrumented kernels, and its timeline: what ran when and where, and the edges between.
//!
//! A copy is traced from its turn in its stream, and a copy engine takes the copies of one direction one after the other. So a
//! copy is drawn from when the one before it in its direction had ended, and says how long it waited until then.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use cuda_std::trace::WORDS;
use stream_order::program::{
    Action, BufferId, Copy, Memory, Memset, Mode, Program, Span, StreamId, StreamKind,
};
use stream_order::{Arrow, Clash, Finding};
use timeline::Format;
use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream, Timeline};

use crate::context::Context;
use crate::error::Error;
use crate::launch::LaunchConfig;
use crate::log::{Log, MissingEdges};
use crate::memory::DeviceBuffer;
use crate::tracer::{TracedLaunch, TracedTransfer, Tracer, Warp};

/// Records that there is room for before it is known how many a submission needs: 6 MiB.
const FIRST_ROOM: usize = 1 << 18;

/// Readings of the device's clock whose least distance is its step.
const CLOCK_READINGS: usize = 64;

/// Name of a slice that is a host-to-device copy.
pub const COPY_TO_DEVICE: &str = "copy to device";
/// Name of a slice that is a device-to-host copy.
pub const COPY_TO_HOST: &str = "copy to host";

/// What a submission did, and when its kernels, copies and memsets ran.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was submitted, with the kernels' own names.
    pub log: Log,
    /// Its launches, in order.
    pub launches: Vec<TracedLaunch>,
    /// Its copies and memsets, in order.
    pub transfers: Vec<TracedTransfer>,
}

/// A traced submission with what a drawing of it needs.
#[derive(Clone, Debug)]
pub struct Run {
    trace: Trace,
    device: String,
    is_virtual: bool,
    step_ns: u64,
    sms: u32,
}

impl Run {
    /// Traces a submission; see [`trace`](crate::trace()).
    #[track_caller]
    pub(crate) fn of(context: &Context, submission: impl Fn() -> Result<(), Error>) -> Result<Run, Error> {
        let step_ns = clock_step_ns(context)?;
        let trace = Trace::of(context, 0, submission)?;
        let (device, is_virtual) = (context.device().name.clone(), context.is_virtual());
        Ok(Run { trace, device, is_virtual, step_ns, sms: context.device().sms })
    }

    /// Returns what was submitted, in order.
    pub fn log(&self) -> &Log {
        &self.trace.log
    }

    /// Returns the missing edges of the submission.
    pub fn missing_edges(&self) -> MissingEdges {
        self.trace.log.missing_edges()
    }

    /// Returns the timeline, with the missing edges in it.
    pub fn timeline(&self, title: &str) -> Timeline {
        Timeline {
            title: title.to_owned(),
            card: self.device.clone(),
            is_virtual: self.is_virtual,
            step_ns: self.step_ns,
            bands: vec![self.trace.band(title, self.sms, true)],
        }
    }

    /// Writes the timeline: a picture (`.svg`), a page (`.html`), or a trace for Perfetto (`.json`). The file is there whole or not
    /// at all.
    ///
    /// # Errors
    ///
    /// [`Error::File`] when the file cannot be written, or its name ends in none of the three.
    pub fn write_timeline(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let title = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let timeline = self.timeline(&title);
        let failed = |error| Error::File { path: path.display().to_string(), error };
        let format = Format::of(path);
        let format = format.map_err(|words| failed(io::Error::new(io::ErrorKind::InvalidInput, words)))?;
        let text = format.draw(&timeline);
        let mut draft = path.as_os_str().to_owned();
        _ = write!(draft, ".{}.part", std::process::id());
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, path)).map_err(|error| {
            _ = fs::remove_file(&draft);
            failed(error)
        })
    }
}

/// The drawing for a terminal of 80 columns, without colour.
impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(timeline::terminal::draw(&self.timeline("run"), 80, false).trim_end())
    }
}

impl Trace {
    /// Runs `submission` with each kernel's instrumented entry in its place and the clock read around each copy and memset that is
    /// put into a stream, waits for it, and returns what it submitted and when that ran; before that, runs it `warmups` times the
    /// same way. It runs once more where there was too little room for the records.
    ///
    /// A kernel whose module has no instrumented entries runs as it is, and has no times.
    ///
    /// # Errors
    ///
    /// The submission's own, and any error of the work.
    #[track_caller]
    pub fn of(
        context: &Context,
        warmups: u32,
        submission: impl Fn() -> Result<(), Error>,
    ) -> Result<Trace, Error> {
        let mut buffer = DeviceBuffer::<u64>::new(context, "trace", WORDS * FIRST_ROOM)?;
        let mut left = warmups;
        loop {
            let tracer = Tracer::new(&buffer);
            let ((outcome, log), tracer) = context.traced_into(tracer, || context.recorded(&submission));
            outcome?;
            context.synchronize()?;
            let tracer = tracer.unwrap_or_else(|| Tracer::new(&buffer));
            if let Some(words) = tracer.lacks() {
                drop(buffer);
                buffer = DeviceBuffer::new(context, "trace", words)?;
            } else if left > 0 {
                left -= 1;
            } else {
                let mut words = vec![0; tracer.words()];
                buffer.copy_to(&mut words)?;
                let (launches, transfers) = tracer.read(&words);
                return Ok(Trace { log, launches, transfers });
            }
        }
    }

    /// Returns the trace as a drawing takes it, without a caption. The edges that are missing are in it when `order` is set.
    pub fn band(&self, name: &str, sms: u32, order: bool) -> Band {
        let mut rows = Rows { log: &self.log, streams: Vec::new(), slices: HashMap::new() };
        for operation in &self.log.program.operations {
            rows.row_of(&operation.action);
        }
        let warps = self.launches.iter().flat_map(|launch| &launch.warps);
        let starts =
            warps.map(|warp| warp.start_ns).chain(self.transfers.iter().map(|transfer| transfer.start_ns));
        let zero_ns = starts.min().unwrap_or(0);
        let kernels = self.launches.iter().map(|launch| (launch.operation, rows.kernel(launch, zero_ns)));
        let mut ran: Vec<(usize, Option<Slice>)> = kernels.collect();
        for (transfer, waited_ns) in by_engine(self) {
            ran.push((transfer.operation, rows.transfer(&transfer, waited_ns, zero_ns)));
        }
        ran.sort_by_key(|(operation, _)| *operation);
        let mut slices = Vec::new();
        for (operation, slice) in ran {
            if let Some(slice) = slice {
                rows.slices.insert(operation, slices.len());
                slices.push(slice);
            }
        }
        let made = stream_order::arrows(&self.log.program);
        let mut edges: Vec<Edge> = made.iter().filter_map(|arrow| rows.event_edge(arrow)).collect();
        if order {
            edges.extend(self.log.findings().iter().filter_map(|finding| rows.missing_edge(finding)));
        }
        let ranges = self.log.ranges.iter().filter_map(|(name, extent)| {
            let mut slices: Vec<_> = extent.clone().filter_map(|at| rows.slices.get(&at).copied()).collect();
            slices.sort_unstable();
            (!slices.is_empty()).then(|| Range { name: name.clone(), slices })
        });
        let (name, caption, ranges) = (name.to_owned(), String::new(), ranges.collect());
        Band { name, caption, sms, slices, edges, ranges, streams: rows.streams() }
    }
}

/// Returns the step of the device's clock (`%globaltimer`), ns: the least distance of two readings that differ. 0 where the module
/// cannot read the clock.
///
/// # Errors
///
/// Any error of the launch.
#[track_caller]
pub fn clock_step_ns(context: &Context) -> Result<u64, Error> {
    if !context.module().has(cuda_std::trace::streamlab_read_timer::KERNEL.name) {
        return Ok(0);
    }
    let stream = crate::stream::Stream::new(context, "clock", StreamKind::Blocking)?;
    let readings = DeviceBuffer::new(context, "readings", CLOCK_READINGS)?;
    stream.launch(LaunchConfig::new(1, 1), cuda_std::trace::streamlab_read_timer(&readings))?;
    stream.synchronize()?;
    let read: Vec<u64> = readings.to_vec()?;
    let steps = read.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    Ok(steps.filter(|&step| step > 0).min().unwrap_or(0))
}

/// Which way a copy over the bus goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToDevice,
    ToHost,
    OnDevice,
}

fn direction(program: &Program, copy: &Copy) -> Direction {
    let is_device = |span: &Span| {
        let declared = program.buffers.iter().find(|buffer| buffer.id == span.buffer);
        declared.is_none_or(|buffer| buffer.memory == Memory::Device)
    };
    match (is_device(&copy.from), is_device(&copy.to)) {
        (false, true) => Direction::ToDevice,
        (true, false) => Direction::ToHost,
        _ => Direction::OnDevice,
    }
}

/// Returns the copies and memsets, each from when its engine was free, with how long it waited for that.
fn by_engine(trace: &Trace) -> Vec<(TracedTransfer, u64)> {
    let mut transfers = trace.transfers.clone();
    transfers.sort_by_key(|transfer| transfer.end_ns);
    let program = &trace.log.program;
    let mut free_ns = [0; 2];
    let on_its_engine = |transfer: TracedTransfer| {
        let way = match program.operations.get(transfer.operation).map(|operation| &operation.action) {
            Some(Action::Copy(copy)) => direction(program, copy),
            _ => Direction::OnDevice,
        };
        let engine = match way {
            Direction::ToDevice => &mut free_ns[0],
            Direction::ToHost => &mut free_ns[1],
            Direction::OnDevice => return (transfer, 0),
        };
        let start_ns = transfer.start_ns.max(*engine).min(transfer.end_ns);
        *engine = transfer.end_ns;
        (TracedTransfer { start_ns, ..transfer }, start_ns - transfer.start_ns)
    };
    transfers.into_iter().map(on_its_engine).collect()
}

/// Where the operations of a log are drawn.
struct Rows<'t> {
    log: &'t Log,
    /// The streams that came up, in that order.
    streams: Vec<StreamId>,
    /// The slice of each launch and transfer, by its place in the log.
    slices: HashMap<usize, usize>,
}

impl Rows<'_> {
    /// Returns the row of the stream that an operation was put into; `None` for what the host does.
    fn row_of(&mut self, action: &Action) -> Option<usize> {
        let id = action.stream()?;
        Some(self.streams.iter().position(|&known| known == id).unwrap_or_else(|| {
            self.streams.push(id);
            self.streams.len() - 1
        }))
    }

    fn streams(&self) -> Vec<Stream> {
        let stream = |&id: &StreamId| {
            let declared = self.log.program.streams.iter().find(|stream| stream.id == id);
            let kind = match declared.map_or(StreamKind::Blocking, |stream| stream.kind) {
                StreamKind::Blocking => "blocking",
                StreamKind::NonBlocking => "non-blocking",
                StreamKind::Legacy => "legacy default",
                StreamKind::PerThread => "per-thread default",
            };
            Stream { name: self.log.stream_name(id).to_owned(), kind: kind.to_owned() }
        };
        self.streams.iter().map(stream).collect()
    }

    fn kernel(&mut self, traced: &TracedLaunch, zero_ns: u64) -> Option<Slice> {
        let operation = self.log.program.operations.get(traced.operation)?;
        let Action::Launch(launch) = &operation.action else { return None };
        let warps = traced.warps.chunks(traced.warps_per_block.max(1));
        let blocks: Vec<Block> = warps.filter_map(|warps| block(warps, zero_ns)).collect();
        let names = |mode: Mode| {
            let mut names: Vec<&str> = Vec::new();
            for access in launch.accesses.iter().filter(|access| access.mode == mode) {
                let name = self.log.buffer_name(access.span.buffer);
                if names.last() != Some(&name) {
                    names.push(name);
                }
            }
            names.join(", ")
        };
        let details = [
            ("launch", shape(&traced.config)),
            ("at", self.log.place(traced.operation)),
            ("reads", names(Mode::Read)),
            ("writes", names(Mode::Write)),
        ];
        Some(Slice {
            name: operation.name.to_string(),
            start_ns: blocks.iter().map(|block| block.start_ns).min()?,
            end_ns: blocks.iter().map(|block| block.end_ns).max()?,
            details: answered(details),
            blocks,
            stream: self.row_of(&operation.action)?,
        })
    }

    /// Returns `None` unless the operation is a copy or a memset.
    fn transfer(&mut self, ran: &TracedTransfer, waited_ns: u64, zero_ns: u64) -> Option<Slice> {
        let program = &self.log.program;
        let operation = program.operations.get(ran.operation)?;
        let (name, from, to): (_, Option<BufferId>, &Span) = match &operation.action {
            Action::Copy(copy) => {
                let name = match direction(program, copy) {
                    Direction::ToDevice => COPY_TO_DEVICE,
                    Direction::ToHost => COPY_TO_HOST,
                    Direction::OnDevice => "copy",
                };
                (name, Some(copy.from.buffer), &copy.to)
            }
            Action::Memset(Memset { to, .. }) => ("memset", None, to),
            _ => return None,
        };
        let waited = match waited_ns {
            0 => String::new(),
            waited_ns => format!("{:.1} us", waited_ns as f64 / 1e3),
        };
        let details = [
            ("bytes", timeline::thousands(to.bytes.end - to.bytes.start)),
            ("at", self.log.place(ran.operation)),
            ("reads", from.map_or_else(String::new, |from| self.log.buffer_name(from).to_owned())),
            ("writes", self.log.buffer_name(to.buffer).to_owned()),
            ("waited for its engine", waited),
        ];
        Some(Slice {
            name: name.to_owned(),
            start_ns: ran.start_ns.saturating_sub(zero_ns),
            end_ns: ran.end_ns.saturating_sub(zero_ns),
            details: answered(details),
            blocks: Vec::new(),
            stream: self.row_of(&operation.action)?,
        })
    }

    /// Returns the edge of a wait for an event; `None` where the host waits, which is not drawn.
    fn event_edge(&mut self, arrow: &Arrow) -> Option<Edge> {
        let log = self.log;
        let Action::Wait { event, .. } = &log.program.operations[arrow.wait].action else { return None };
        let words = match (arrow.record, arrow.from) {
            (None, _) => {
                format!("the wait at {} is over at once: the event was never recorded", log.place(arrow.wait))
            }
            (Some(record), None) => format!(
                "recorded at {} when the stream was empty, so the wait at {} is over at once",
                log.place(record),
                log.place(arrow.wait)
            ),
            (Some(record), Some(_)) => {
                format!("recorded at {}, waited for at {}", log.place(record), log.place(arrow.wait))
            }
        };
        let kind = if arrow.from.is_none() { EdgeKind::Empty } else { EdgeKind::Event };
        let from = self.end(arrow.from.or(arrow.record).unwrap_or(arrow.wait), arrow.from)?;
        let to = self.end(arrow.wait, arrow.to)?;
        Some(Edge { kind, name: log.event_name(*event).to_owned(), from, to, words })
    }

    /// Returns the edge that a finding misses; `None` where an end is the host's, which is not drawn.
    fn missing_edge(&mut self, finding: &Finding) -> Option<Edge> {
        let log = self.log;
        let name = match &finding.race.clash {
            Clash::Memory { buffer, .. } => log.buffer_name(*buffer).to_owned(),
            Clash::Time { .. } => "time".to_owned(),
        };
        let from = self.end(finding.after, Some(finding.after))?;
        let to = self.end(finding.before, Some(finding.before))?;
        let words = finding.in_words(&log.program).to_string();
        Some(Edge { kind: EdgeKind::Missing, name, from, to, words })
    }

    /// Returns an end on the row of an operation, at the slice of another.
    fn end(&mut self, row: usize, slice: Option<usize>) -> Option<End> {
        let log = self.log;
        let stream = self.row_of(&log.program.operations[row].action)?;
        Some(End { stream, slice: slice.and_then(|at| self.slices.get(&at).copied()) })
    }
}

/// Returns the details that have an answer.
fn answered<const N: usize>(details: [(&str, String); N]) -> Vec<(String, String)> {
    let answered = details.into_iter().filter(|(_, answer)| !answer.is_empty());
    answered.map(|(word, answer)| (word.to_owned(), answer)).collect()
}

fn block(warps: &[Warp], zero_ns: u64) -> Option<Block> {
    Some(Block {
        sm: warps.first()?.sm,
        start_ns: warps.iter().map(|warp| warp.start_ns).min()?.saturating_sub(zero_ns),
        end_ns: warps.iter().map(|warp| warp.end_ns).max()?.saturating_sub(zero_ns),
    })
}

/// Returns a launch's shape in short, as long as it has one dimension.
fn shape(launch: &LaunchConfig) -> String {
    match (launch.grid, launch.block) {
        ((blocks, 1, 1), (threads, 1, 1)) => {
            let s = if blocks == 1 { "" } else { "s" };
            format!("{} block{s} of {threads} threads", timeline::thousands(u64::from(blocks)))
        }
        _ => launch.to_string(),
    }
}
