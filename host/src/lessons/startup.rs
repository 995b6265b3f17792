//! What the first call, the first load and the first launch cost, against the second.
//!
//! Claim: a program's first calls pay for what every later one finds done: the driver is started, the context made, the PTX
//! compiled, and with lazy loading each kernel brought to the device at its first launch, which may wait for kernels that run.
//!
//! Prediction: the first load compiles, the second reads the driver's cache; a kernel's first launch takes at least as long as its
//! later ones; told to load eagerly, the driver does that with the module.
//!
//! A process starts a driver once, so each start is a process of its own, with a cache of compiled kernels that nobody else uses.
//! What is timed is the host, between the call and its return.

use cuda_std::call::Call;
use cuda_std::trace::streamlab_read_timer;
use gpu::forkjoin::{grind_fma, sum_four};
use gpu::streams::{spin_lcg, sweep_add, sweep_scale};
use serde::{Deserialize, Serialize};
use streamlab::{
    Context, DeviceBuffer, Error, HostClock, LaunchConfig, Loading, LoadingMode, Options, StartupTimes,
    Stream, StreamKind,
};
use timeline::thousands;

use crate::check::{Check, count};
use crate::child::{self, ChildError, EmptyFolder, Scene};
use crate::compare::compare;
use crate::kernels::IMAGES;
use crate::lab::{Lab, Outcome};
use crate::reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 50;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "What the first call, the first load and the first launch cost, against the second";
/// Whether it records a timeline.
pub const DRAWS: bool = false;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {}

/// Elements of each buffer: one block.
const ELEMS: usize = 256;
/// Launches of each kernel after its first.
const LATER: usize = 9;
/// Steps of the kernel that runs while another is launched: some 10 ms.
const LONG_STEPS: u32 = 1 << 22;
/// The grind kernel's factor, summand and steps.
const A: f32 = 0.5;
const B: f32 = 1.0;
const ITERS: u32 = 16;

/// What a process found that opened the device for the first time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FirstUse {
    opening: StartupTimes,
    loading_mode: Option<LoadingMode>,
    kernels: Vec<KernelTimes>,
    beside: Beside,
}

/// What launching a kernel took on the host, and how many elements of its result were wrong.
#[derive(Debug, Serialize, Deserialize)]
struct KernelTimes {
    kernel: String,
    first_ns: u64,
    later_ns: Vec<u64>,
    wrong_elements: usize,
}

/// Whether a launch in one stream returned only when the kernel that ran in another stream was complete.
#[derive(Debug, Serialize, Deserialize)]
struct Beside {
    first_waited: bool,
    later_waited: bool,
}

/// Starts under the same condition, and the medians of their steps.
#[derive(Debug, Serialize)]
struct Condition {
    name: &'static str,
    steps: Steps,
    starts: Vec<FirstUse>,
}

/// What each step took on the host; a launch of every kernel together.
#[derive(Debug, Serialize)]
struct Steps {
    driver_ns: u64,
    context_ns: u64,
    module_ns: u64,
    first_launches_ns: u64,
    later_launches_ns: u64,
}

type Step = fn(&Steps) -> u64;

/// The lines of the table.
const STEPS: [(&str, Step); 5] = [
    ("start the driver", |steps| steps.driver_ns),
    ("make the context", |steps| steps.context_ns),
    ("load the module", |steps| steps.module_ns),
    ("first launch of each kernel", |steps| steps.first_launches_ns),
    ("a later launch of each", |steps| steps.later_launches_ns),
];

/// Opens the device without bringing kernels to it, and launches them; in its own process.
pub(super) fn first_use(options: Options) -> Result<FirstUse, Error> {
    let context = Context::open(Options { loading: Loading::DriverDefault, ..options }, IMAGES)?;
    let (opening, loading_mode) = (context.startup(), context.module().loading_mode());
    let (kernels, beside) = (launches(&context)?, beside(&context)?);
    context.finish().into_iter().next().map_or(Ok(FirstUse { opening, loading_mode, kernels, beside }), Err)
}

/// Times the first launch of each of four kernels, and later ones.
fn launches(context: &Context) -> Result<Vec<KernelTimes>, Error> {
    let stream = Stream::new(context, "stream", StreamKind::NonBlocking)?;
    let input: Vec<f32> = (0_u16..).take(ELEMS).map(f32::from).collect();
    let from = DeviceBuffer::from_slice(context, "input", &input)?;
    let out = DeviceBuffer::<f32>::new(context, "out", ELEMS)?;
    let mut want = [[0.0; ELEMS]; 4];
    reference::grind_fma(&input, &mut want[0], A, B, ITERS);
    reference::sum_four(&input, &input, &input, &input, &mut want[1]);
    reference::streams::sweep_add(&input, &mut want[2]);
    reference::streams::sweep_scale(&input, &mut want[3]);
    let kernels: [Call<'_>; 4] = [
        grind_fma(&from, &out, ITERS, A, B),
        sum_four(&from, &from, &from, &from, &out),
        sweep_add(&from, &out),
        sweep_scale(&from, &out),
    ];
    let mut times = Vec::new();
    for (call, want) in kernels.into_iter().zip(want) {
        let mut clock = HostClock::start();
        stream.launch(LaunchConfig::new(1, ELEMS as u32), call.clone())?;
        let first_ns = clock.lap_ns();
        stream.synchronize()?;
        let mut later_ns = Vec::new();
        for _ in 0..LATER {
            let mut clock = HostClock::start();
            stream.launch(LaunchConfig::new(1, ELEMS as u32), call.clone())?;
            later_ns.push(clock.lap_ns());
            stream.synchronize()?;
        }
        let wrong_elements = compare(&out.to_vec()?, &want, 0.0).mismatches;
        times.push(KernelTimes { kernel: call.kernel().name.to_owned(), first_ns, later_ns, wrong_elements });
    }
    Ok(times)
}

/// Launches a kernel for the first time and again, each time while another kernel runs.
fn beside(context: &Context) -> Result<Beside, Error> {
    let long = Stream::new(context, "long", StreamKind::NonBlocking)?;
    let short = Stream::new(context, "short", StreamKind::NonBlocking)?;
    let spun = DeviceBuffer::<u32>::new(context, "spun", 32)?;
    let readings = DeviceBuffer::<u64>::new(context, "readings", 1)?;
    long.launch(LaunchConfig::new(1, 32), spin_lcg(&spun, 1))?; // so that its own first launch is over
    context.synchronize()?;

    long.launch(LaunchConfig::new(1, 32), spin_lcg(&spun, LONG_STEPS))?;
    short.launch(LaunchConfig::new(1, 1), streamlab_read_timer(&readings))?; // the first launch of it
    let first_waited = long.query()?;
    context.synchronize()?;

    long.launch(LaunchConfig::new(1, 32), spin_lcg(&spun, LONG_STEPS))?;
    short.launch(LaunchConfig::new(1, 1), streamlab_read_timer(&readings))?;
    let later_waited = long.query()?;
    context.synchronize()?;
    Ok(Beside { first_waited, later_waited })
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, _args: &Args) -> Outcome {
    // 1. Starts under each condition, each in a process of its own.
    let starts = lab.repeat().probe().runs();
    let each = count(starts as usize, "start", "starts");
    lab.observe("starts", starts, format!("{each} under each condition, each in a process of its own"));
    let conditions = match conditions(lab, starts) {
        Ok(conditions) => conditions,
        Err(error) => return lab.require(Check::fail("start.child", error.to_string())),
    };
    lab.value("conditions", &conditions);

    // 2. Every kernel computed the right result in every process.
    let all: Vec<_> = conditions.iter().flat_map(|condition| &condition.starts).collect();
    let kernels: Vec<_> = all.iter().flat_map(|start| &start.kernels).collect();
    let wrong = kernels.iter().map(|kernel| kernel.wrong_elements).sum();
    lab.require(right(all.len(), kernels.len(), wrong))?;

    // 3. What each step took.
    let names: String = conditions.iter().map(|condition| format!("{:>18}", condition.name)).collect();
    lab.say(format!("{:28} {names}", "host time, ms (medians)"));
    for (name, step) in STEPS {
        let cells = conditions.iter().map(|condition| match step(&condition.steps) {
            0 => format!("{:>18}", "-"),
            ns => format!("{:>18.3}", ns as f64 / 1e6),
        });
        lab.say_time(&format!("{name:28}"), cells.collect::<String>());
    }
    if conditions.iter().any(|condition| STEPS.iter().any(|(_, step)| step(&condition.steps) == 0)) {
        lab.say("-: the host's clock of this device does not move there: such a step is not modelled");
    }

    // 4. The second time costs no more than the first.
    let [cold, cached, eager] = conditions;
    lab.check(cached_load(cold.steps.module_ns, cached.steps.module_ns));
    for index in 0..4 {
        let times = || cached.starts.iter().filter_map(|start| start.kernels.get(index));
        let name = times().next().map_or("", |times| &times.kernel);
        let first_ns = median(times().map(|times| times.first_ns).collect());
        let later_ns = median(times().flat_map(|times| times.later_ns.iter().copied()).collect());
        lab.check(first_launch(name, first_ns, later_ns));
    }
    let is_eager = eager.starts.iter().all(|start| start.loading_mode == Some(LoadingMode::Eager));
    lab.check(eager_loading(is_eager, cached.steps.first_launches_ns, eager.steps.first_launches_ns));
    let any = |waited: fn(&Beside) -> bool| cached.starts.iter().any(|start| waited(&start.beside));
    lab.check(beside_a_running_kernel(any(|launch| launch.first_waited), any(|launch| launch.later_waited)));
    Ok(())
}

/// Starts under each condition, cold ones first: the last of them leaves the cache that the others find.
fn conditions(lab: &Lab<'_>, count: u32) -> Result<[Condition; 3], ChildError> {
    let words = Scene::Startup.words(lab.common());
    let start = |cache: &EmptyFolder, loading| {
        let variables = child::driver_variables(cache, loading);
        lab.busy("the device is opened, in a process of its own", || child::run(&words, &variables))
    };
    let mut cache = EmptyFolder::new()?;
    let mut cold = vec![start(&cache, "LAZY")?];
    for _ in 1..count {
        cache = EmptyFolder::new()?;
        cold.push(start(&cache, "LAZY")?);
    }
    let again = |loading| (0..count).map(|_| start(&cache, loading)).collect::<Result<Vec<_>, _>>();
    let (lazy, eager) = (again("LAZY")?, again("EAGER")?);
    Ok([
        condition("cold cache, lazy", cold),
        condition("cached, lazy", lazy),
        condition("cached, eager", eager),
    ])
}

fn condition(name: &'static str, starts: Vec<FirstUse>) -> Condition {
    let step = |of: fn(&FirstUse) -> u64| median(starts.iter().map(of).collect());
    let later = |kernels: &[KernelTimes]| kernels.iter().map(|kernel| median(kernel.later_ns.clone())).sum();
    let steps = Steps {
        driver_ns: step(|start| start.opening.driver_ns),
        context_ns: step(|start| start.opening.context_ns),
        module_ns: step(|start| start.opening.module_ns),
        first_launches_ns: step(|start| start.kernels.iter().map(|kernel| kernel.first_ns).sum()),
        later_launches_ns: median(starts.iter().map(|start| later(&start.kernels)).collect()),
    };
    Condition { name, steps, starts }
}

/// Returns the middle one, of an even number the greater of the two in the middle; 0 of none.
fn median(mut times_ns: Vec<u64>) -> u64 {
    times_ns.sort_unstable();
    times_ns.get(times_ns.len() / 2).copied().unwrap_or_default()
}

/// Times of a host, taken in different processes, may differ by this factor for no reason: they are a few microseconds.
pub const NOISE: u64 = 2;

/// Checks that a kernel's first launch, which brings it to the device, takes no less than a later one, which finds it there.
pub fn first_launch(kernel: &str, first_ns: u64, later_ns: u64) -> Check {
    let (first, later) = (thousands(first_ns), thousands(later_ns));
    let sentence = format!("{kernel}: the first launch takes {first} ns, a later one {later} ns");
    Check::that(later_ns <= first_ns, format!("first-launch.{kernel}"), sentence)
}

/// Checks that loading a module whose PTX the driver has compiled before takes less.
pub fn cached_load(cold_ns: u64, cached_ns: u64) -> Check {
    let (cold, cached) = (thousands(cold_ns), thousands(cached_ns));
    let sentence =
        format!("the module is compiled and loaded in {cold} ns, loaded from the cache in {cached} ns");
    let check = Check::that(cached_ns < cold_ns, "load.cached", sentence);
    let reason = "this driver compiles nothing, and has nothing to keep";
    if cold_ns == cached_ns { check.unless(&[reason.to_owned()]) } else { check }
}

/// Checks that first launches take no more with all kernels on the device. `is_eager` is what the driver says of itself then.
pub fn eager_loading(is_eager: bool, lazy_ns: u64, eager_ns: u64) -> Check {
    let (lazy, eager) = (thousands(lazy_ns), thousands(eager_ns));
    let sentence =
        format!("all first launches take {lazy} ns with lazy loading, {eager} ns with eager loading");
    let mut reasons = Vec::new();
    if !is_eager {
        reasons.push("this driver does not load eagerly, also when told to".to_owned());
    } else if eager_ns > lazy_ns && eager_ns <= NOISE * lazy_ns {
        reasons.push("the host's times differ as much from one process to the next".to_owned());
    }
    Check::that(eager_ns <= lazy_ns, "eager.first-launches", sentence).unless(&reasons)
}

/// Checks that a later launch waits for no kernel that runs. That a first launch may wait is no promise, so it is not checked.
pub fn beside_a_running_kernel(first_waited: bool, later_waited: bool) -> Check {
    let words = |waited| if waited { "waits for it" } else { "does not wait for it" };
    let (first, later) = (words(first_waited), words(later_waited));
    let sentence =
        format!("while a kernel runs, another one's first launch {first}, and its later launch {later}");
    Check::that(!later_waited, "beside.later-launch", sentence)
}

/// Checks that every kernel computed what the reference says, in every process.
pub fn right(processes: usize, kernels: usize, wrong_elements: usize) -> Check {
    let ran =
        format!("{} in {}", count(kernels, "kernel", "kernels"), count(processes, "process", "processes"));
    let sentence = format!("{ran}: {}", count(wrong_elements, "element is wrong", "elements are wrong"));
    Check::that(processes > 0 && kernels > 0 && wrong_elements == 0, "kernels.result", sentence)
}
