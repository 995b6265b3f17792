//! Errors at the call, errors at a later call, and one after which nothing works any more.
//!
//! Claim: a launch that the device does not take is refused at the call, and so is an allocation that is too large or a question
//! that has no answer; the context stays usable. A kernel's own error is returned by no launch: the first call that waits returns
//! it, and then every call, whatever it is about, until the context is ended.
//!
//! Prediction: each refusal names its limit. For a write out of bounds the launch returns 0, the wait and everything after it 700.

use gpu::errors::write_at;
use serde::{Deserialize, Serialize};
use streamlab::{
    Context, DeviceBuffer, Error, Event, LastError, LaunchBlocking, LaunchConfig, NvtxRange, Options, Stream,
    StreamKind,
};

use crate::check::{Check, count};
use crate::child::{self, Scene};
use crate::kernels::IMAGES;
use crate::lab::{Lab, Outcome};

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 40;
/// What the lesson shows, in a line.
pub const ABOUT: &str =
    "Errors at the call, errors at a later call, and one after which nothing works any more";
/// Whether it records a timeline.
pub const DRAWS: bool = false;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {}

/// Elements of each buffer.
const ELEMS: usize = 256;
/// An element so far after every buffer that no device has memory there: a tebibyte on.
const FAR: u64 = 1 << 38;
/// A launch that every device takes.
const ONE_THREAD: LaunchConfig = LaunchConfig::new(1, 1);
/// A launch with one thread more than any device takes.
const TOO_MANY_THREADS: LaunchConfig = LaunchConfig::new(1, 1025);
/// `CUDA_ERROR_INVALID_VALUE`, `CUDA_ERROR_OUT_OF_MEMORY` and `CUDA_ERROR_INVALID_HANDLE`.
const INVALID_VALUE: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const INVALID_HANDLE: u32 = 400;

/// What a call returned: its code, 0 when it succeeded, and the whole message of one that failed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Returned {
    step: String,
    code: u32,
    error: Option<String>,
}

impl Returned {
    fn of<T>(step: &str, outcome: Result<T, Error>) -> Self {
        let error = outcome.err();
        let code = error.as_ref().map_or(0, |error| error.code().unwrap_or(u32::MAX));
        Returned { step: step.to_owned(), code, error: error.map(|error| error.to_string()) }
    }
}

/// What happened after a kernel wrote out of bounds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    launch_blocking: LaunchBlocking,
    launch: Returned,
    wait: Returned,
    /// Calls that have nothing to do with it, in the same context.
    unrelated: Vec<Returned>,
    /// The codes of the last error, taken twice.
    taken: [Option<u32>; 2],
    /// Releases that failed when the context was ended.
    failed_releases: usize,
    /// What a new context in the same process returned.
    new_context: Returned,
}

/// Whether a launch writes what it should where it should, and nothing else.
fn writes_right(context: &Context, value: u32) -> Result<bool, Error> {
    let stream = Stream::new(context, "sound", StreamKind::NonBlocking)?;
    let out = DeviceBuffer::from_slice(context, "out", &[0; ELEMS])?;
    // SAFETY: the element is the buffer's last.
    stream.launch(ONE_THREAD, unsafe { write_at(&out, ELEMS as u64 - 1, value) })?;
    stream.synchronize()?;
    let got = out.to_vec()?;
    Ok(got[ELEMS - 1] == value && got[..ELEMS - 1].iter().all(|&other| other == 0))
}

/// Lets a kernel write out of bounds, goes on as if nothing had happened, ends the context, and begins again; in its own process.
pub(super) fn fault(options: Options, launch_blocking: LaunchBlocking) -> Result<Fault, Error> {
    let context = Context::open(options, IMAGES)?;
    context.set_launch_blocking(launch_blocking);
    let stream = Stream::new(&context, "faulty", StreamKind::NonBlocking)?;
    let out = DeviceBuffer::<u32>::new(&context, "out", ELEMS)?;
    // SAFETY: there is no such element, which is what this shows. No memory of this context, of another one or of the host is a
    // tebibyte after the buffer, so the device refuses the access and nothing is written.
    let launched = stream.launch(ONE_THREAD, unsafe { write_at(&out, FAR, 7) });
    let waited = stream.synchronize();
    let allocated = DeviceBuffer::<u32>::new(&context, "another", 1);
    let created = Event::ordering(&context, "event");
    // SAFETY: the buffer has an element 0.
    let launched_again = stream.launch(ONE_THREAD, unsafe { write_at(&out, 0, 7) });
    let waited_again = context.synchronize();
    let taken = [LastError::take(), LastError::take()].map(|last| last.map(|last| last.code));
    let unrelated = vec![
        Returned::of("allocate 4 bytes", allocated),
        Returned::of("create an event", created),
        Returned::of("launch a kernel that writes in bounds", launched_again),
        Returned::of("wait for the device", waited_again),
    ];
    let launch = Returned::of("launch a kernel that writes out of bounds", launched);
    let wait = Returned::of("wait for its stream", waited);
    drop((stream, out));
    let failed_releases = context.finish().len();
    let new_context = Returned::of("open a new context and launch a kernel in it", begin_again(options));
    Ok(Fault { launch_blocking, launch, wait, unrelated, taken, failed_releases, new_context })
}

fn begin_again(options: Options) -> Result<(), Error> {
    let context = Context::open(options, IMAGES)?;
    writes_right(&context, 8)?;
    context.finish().into_iter().next().map_or(Ok(()), Err)
}

/// Lets a kernel write to address 0, and ends with the first error that a call returns; in its own process.
pub(super) fn store_to_null(options: Options) -> Result<(), Error> {
    let context = Context::open(options, IMAGES)?;
    let stream = Stream::new(&context, "faulty", StreamKind::NonBlocking)?;
    let out = DeviceBuffer::<u32>::new(&context, "out", ELEMS)?;
    // SAFETY: only the address is read here, and nothing is launched.
    let address = unsafe { write_at(&out, 0, 0) }.slots()[0];
    let index_of_null = (address / 4).wrapping_neg(); // four bytes each, and addresses wrap around
    // SAFETY: there is no such element, which is what this shows. Nothing is allocated at address 0: the device refuses the access.
    stream.launch(ONE_THREAD, unsafe { write_at(&out, index_of_null, 7) })?;
    stream.synchronize()
}

/// Launches that no device takes, and what is wrong with each.
fn bad_launches() -> [(&'static str, &'static str, LaunchConfig); 7] {
    let good = LaunchConfig::new(1, 32);
    let shared = |kib: u32| LaunchConfig { shared_bytes: kib << 10, ..good };
    [
        ("refused.block-x", "1025 threads", TOO_MANY_THREADS),
        ("refused.block-threads", "33 x 32 threads", LaunchConfig { block: (33, 32, 1), ..good }),
        ("refused.block-z", "65 threads along z", LaunchConfig { block: (1, 1, 65), ..good }),
        ("refused.grid-y", "65536 blocks along y", LaunchConfig { grid: (1, 65_536, 1), ..good }),
        ("refused.no-block", "no block", LaunchConfig::new(0, 32)),
        ("refused.shared-unrequested", "50 KiB of dynamic shared memory, unrequested", shared(50)),
        ("refused.shared-too-large", "300 KiB of dynamic shared memory", shared(300)),
    ]
}

/// Checks that a call was refused, and that the context still works; returns what the call returned.
fn refused<T>(
    lab: &mut Lab<'_>,
    (id, what, wanted): (&str, &str, u32),
    outcome: Result<T, Error>,
) -> Outcome<Returned> {
    let works = writes_right(lab.context(), 2)?;
    lab.check(survived(id, what, wanted, outcome.as_ref().err(), works));
    Ok(Returned::of(what, outcome))
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, _args: &Args) -> Outcome {
    let context = lab.context();
    let launch_blocking = LaunchBlocking::of_this_build();
    context.set_launch_blocking(launch_blocking);
    let build =
        if launch_blocking == LaunchBlocking::On { "on, a debug build" } else { "off, a release build" };
    lab.observe("launch_blocking", launch_blocking, format!("launch blocking: {build}"));

    // 1. A good launch does what it should.
    let range = NvtxRange::new(context, "sound");
    let mut works = false;
    lab.record("sound", || writes_right(context, 1).map(|right| works = right))?.missing_edges(0)?;
    let sentence = "write_at writes the element that was asked for, and no other";
    lab.require(Check::that(works, "sound.result", sentence))?;
    drop(range);

    // 2. Calls that are refused, each with a good launch after it.
    let range = NvtxRange::new(context, "refused-launches");
    let stream = Stream::new(context, "s", StreamKind::NonBlocking)?;
    let out = DeviceBuffer::<u32>::new(context, "out", ELEMS)?;
    let mut all = Vec::new();
    for (id, what, config) in bad_launches() {
        // SAFETY: the buffer has an element 0.
        let outcome = stream.launch(config, unsafe { write_at(&out, 0, 1) });
        all.push(refused(lab, (id, what, INVALID_VALUE), outcome)?);
    }
    drop(range);
    let range = NvtxRange::new(context, "other-refusals");
    let outcome = DeviceBuffer::<u8>::new(context, "huge", 1 << 50); // more than any device has
    all.push(refused(lab, ("refused.allocation", "an allocation of a pebibyte", OUT_OF_MEMORY), outcome)?);
    let (start, stop) = (Event::timing(context, "start")?, Event::ordering(context, "stop")?);
    let outcome = Event::elapsed_ms(&start, &stop);
    all.push(refused(
        lab,
        ("refused.elapsed", "the time between events without one", INVALID_HANDLE),
        outcome,
    )?);
    lab.value("refused", all);
    drop(range);

    // 3. The last error, as the runtime API's `cudaPeekAtLastError` and `cudaGetLastError` return it.
    _ = LastError::take();
    // SAFETY: the buffer has an element 0.
    let outcome = stream.launch(TOO_MANY_THREADS, unsafe { write_at(&out, 0, 1) });
    let wanted = outcome.err().and_then(|error| error.code()).unwrap_or_default();
    // SAFETY: likewise.
    stream.launch(ONE_THREAD, unsafe { write_at(&out, 0, 1) })?;
    stream.synchronize()?;
    let peeked = [LastError::peek(), LastError::peek()].map(|last| last.map(|last| last.code));
    let taken = [LastError::take(), LastError::take()].map(|last| last.map(|last| last.code));
    lab.check(last_error(wanted, peeked, taken));

    // 4. The error that ends a context, in processes that it may end.
    let _range = NvtxRange::new(context, "faults");
    let plain = in_child(lab, Scene::Fault, "fault.child");
    if let Some(fault) = &plain {
        let words = fault.wait.error.as_deref().unwrap_or_default();
        lab.check(reported_by_wait(fault.launch.code, fault.wait.code, words, write_at::KERNEL.name));
        lab.say(words);
        let unrelated: Vec<_> = fault.unrelated.iter().map(|call| (call.step.as_str(), call.code)).collect();
        lab.check(sticky(fault.wait.code, &unrelated, fault.taken));
        lab.say(format!(
            "ending that context: {} failed",
            count(fault.failed_releases, "release", "releases")
        ));
        lab.check(new_context(fault.new_context.code));
        let blocking = in_child(lab, Scene::CheckedFault, "checked-fault.child");
        if let Some(blocking) = &blocking {
            lab.check(reported_by_launch(blocking.launch.code, fault.wait.code));
        }
        lab.value("checked_fault", blocking);
    }
    lab.value("fault", plain);
    lab.check(unharmed(writes_right(context, 3)?));
    Ok(())
}

/// Runs a scene in a process of its own. One that returns no document is a failed check.
fn in_child(lab: &mut Lab<'_>, scene: Scene, id: &str) -> Option<Fault> {
    let words = scene.words(lab.common());
    let told = lab.busy("a kernel fails, in a process of its own", || child::run::<Fault>(&words, &[]));
    told.map_err(|error| lab.check(Check::fail(id, error.to_string()))).ok()
}

/// Checks that a call failed with the code that was expected, and that a good launch after it works.
pub fn survived(id: &str, what: &str, wanted: u32, failed: Option<&Error>, works: bool) -> Check {
    let words = match failed {
        None => return Check::fail(id, format!("{what}: the call succeeded (expected {wanted})")),
        // Which limit it was, where that is known.
        Some(Error::Driver(driver)) if !driver.detail.is_empty() => driver.detail.clone(),
        Some(other) => other.to_string(),
    };
    let code = failed.and_then(Error::code).unwrap_or(u32::MAX);
    let after = if works { "works" } else { "does not work" };
    let sentence = format!(
        "{what}: the call returned {code} (expected {wanted}), and the next good launch {after}; {words}"
    );
    Check::that(code == wanted && works, id, sentence)
}

/// Checks that the last error is kept by a peek, cleared by a take, and left alone by a call that succeeds.
pub fn last_error(wanted: u32, peeked: [Option<u32>; 2], taken: [Option<u32>; 2]) -> Check {
    let holds = peeked == [Some(wanted); 2] && taken == [Some(wanted), None];
    let [peeks, takes] = [peeked, taken].map(in_words);
    let sentence = format!(
        "after a call that failed with {wanted} and one that succeeded, LastError::peek twice returned {peeks}, take {takes}"
    );
    Check::that(holds, "last-error.kept-until-taken", sentence)
}

fn in_words(codes: [Option<u32>; 2]) -> String {
    codes.map(|code| code.map_or("none".to_owned(), |code| code.to_string())).join(" and ")
}

/// Checks that the launch succeeds though its kernel fails, and that the first call that waits returns the error and names it.
pub fn reported_by_wait(launch: u32, wait: u32, words: &str, kernel: &str) -> Check {
    let named = words.contains(kernel);
    let with = if named { "with" } else { "without" };
    let calls =
        format!("the launch returned {launch}, the first call that waits {wait} {with} the kernel's name");
    let holds = launch == 0 && wait != 0 && named;
    Check::that(holds, "fault.reported-by-wait", format!("a write out of bounds: {calls}"))
}

/// Checks that the launch itself returns the error where a wait follows each launch.
pub fn reported_by_launch(launch: u32, wanted: u32) -> Check {
    let sentence = format!("with a wait after each launch, the launch returned {launch} (expected {wanted})");
    Check::that(launch == wanted && launch != 0, "fault.reported-by-launch", sentence)
}

/// Checks that every call of the context then returns the same code, and that the last error cannot be cleared.
pub fn sticky(code: u32, unrelated: &[(&str, u32)], taken: [Option<u32>; 2]) -> Check {
    let holds = !unrelated.is_empty() && unrelated.iter().all(|(_, other)| *other == code);
    let calls: Vec<_> = unrelated.iter().map(|(what, other)| format!("{other} ({what})")).collect();
    let (calls, takes) = (calls.join(", "), in_words(taken));
    let sentence =
        format!("{code} expected from every later call: {calls}; from LastError::take twice: {takes}");
    Check::that(holds && taken == [Some(code); 2], "fault.sticky", sentence)
}

/// Checks that a new context of the same process works. No manual promises that, so a failure is not judged.
pub fn new_context(code: u32) -> Check {
    let check =
        Check::that(code == 0, "fault.new-context", format!("calls in a new context returned {code}"));
    let reasons = ["the driver's manual says that only a new process helps".to_owned()];
    check.unless(if code == 0 { &[] } else { &reasons })
}

/// Checks that the other process did not harm this one.
pub fn unharmed(works: bool) -> Check {
    let outcome = if works { "works as before" } else { "computes something else than before" };
    Check::that(
        works,
        "fault.parent-unharmed",
        format!("the context of this process, open all the while, {outcome}"),
    )
}
