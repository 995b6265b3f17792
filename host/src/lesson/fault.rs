//! A kernel that writes out of bounds, and what every call says from then on. It runs in a process of its own.

use serde::{Deserialize, Serialize};

use crate::kernels::IMAGES;
use crate::submit::{Buffer, Checks, Context, Error, Event, LastError, Launch, Stream, StreamKind};

/// Elements of the buffer.
pub const ELEMS: usize = 256;
/// An element so far behind every buffer that no card has memory there: a tebibyte on.
const FAR: u64 = 1 << 38;

/// What a call answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// What was asked for, in words.
    pub step: String,
    /// The driver's number, 0 when the call succeeded.
    pub code: u32,
    /// The whole message of a call that failed.
    pub error: Option<String>,
}

/// What happened.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    /// When errors of kernels were looked for.
    pub checks: Checks,
    /// The launch that writes out of bounds.
    pub launch: Answer,
    /// The first call that waits.
    pub wait: Answer,
    /// Calls that have nothing to do with it, in the same context.
    pub unrelated: Vec<Answer>,
    /// The code that [`LastError::take`] gave, and the one that it gave once more.
    pub taken: [Option<u32>; 2],
    /// Releases that failed when the context was ended.
    pub failed_releases: usize,
    /// What a new context in the same process answered.
    pub new_context: Answer,
}

impl Answer {
    /// Of a call and its outcome.
    pub fn of<T>(step: &str, outcome: Result<T, Error>) -> Self {
        let error = outcome.err();
        Answer {
            step: step.to_owned(),
            code: error.as_ref().map_or(0, |error| error.code().unwrap_or(u32::MAX)),
            error: error.map(|error| error.to_string()),
        }
    }
}

/// Writes `value` to element `index` of `out`, and waits for it where the context checks its launches.
#[track_caller]
pub fn write_at(stream: &Stream<'_>, out: &Buffer<'_, u32>, index: u64, value: u32) -> Result<(), Error> {
    stream.launch(&Launch::new(1, 1), gpu::errors::write_at(out, index, value))
}

/// Whether a launch writes what it should where it should, and nothing else.
pub fn writes_right(context: &Context, value: u32) -> Result<bool, Error> {
    let stream = Stream::new(context, "sound", StreamKind::NonBlocking)?;
    let out = Buffer::from_slice(context, "out", &[0; ELEMS])?;
    context.synchronize()?;
    write_at(&stream, &out, ELEMS as u64 - 1, value)?;
    stream.synchronize()?;
    let mut got = [0; ELEMS];
    out.copy_to(&mut got)?;
    Ok(got[ELEMS - 1] == value && got[..ELEMS - 1].iter().all(|&other| other == 0))
}

/// Lets a kernel write out of bounds, goes on as if nothing had been said, ends the context, and begins again.
///
/// # Errors
///
/// Those of what comes before the launch.
pub fn run(ordinal: u32, checks: Checks) -> Result<Fault, Error> {
    let context = Context::open(ordinal, IMAGES)?;
    context.set_checks(checks);
    let (launch, wait, unrelated, taken) = {
        let stream = Stream::new(&context, "faulty", StreamKind::NonBlocking)?;
        let out = Buffer::<u32>::new(&context, "out", ELEMS)?;
        let launch = Answer::of("launch a kernel that writes out of bounds", write_at(&stream, &out, FAR, 7));
        let wait = Answer::of("wait for its stream", stream.synchronize());
        let unrelated = vec![
            Answer::of("allocate 4 bytes", Buffer::<u32>::new(&context, "another", 1)),
            Answer::of("make an event", Event::ordering(&context, "event")),
            Answer::of("launch a kernel that writes in bounds", write_at(&stream, &out, 0, 7)),
            Answer::of("wait for the card", context.synchronize()),
        ];
        let take = || LastError::take().map(|last| last.code);
        (launch, wait, unrelated, [take(), take()])
    };
    let failed_releases = context.finish().len();
    let new_context =
        Answer::of("open a new context and launch a kernel that writes in bounds", again(ordinal));
    Ok(Fault { checks, launch, wait, unrelated, taken, failed_releases, new_context })
}

fn again(ordinal: u32) -> Result<(), Error> {
    let context = Context::open(ordinal, IMAGES)?;
    let outcome = writes_right(&context, 8);
    let failures = context.finish();
    outcome?;
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Lets a kernel write to address 0, and ends with the first error that it is told.
///
/// # Errors
///
/// The kernel's, wherever nothing may be written there.
pub fn store_to_null(ordinal: u32) -> Result<(), Error> {
    let context = Context::open(ordinal, IMAGES)?;
    let stream = Stream::new(&context, "faulty", StreamKind::NonBlocking)?;
    let out = Buffer::<u32>::new(&context, "out", ELEMS)?;
    // An index is a multiple of four bytes, and addresses wrap around.
    let address = gpu::errors::write_at(&out, 0, 0).slots()[0];
    write_at(&stream, &out, (address / 4).wrapping_neg(), 7)?;
    stream.synchronize()
}
