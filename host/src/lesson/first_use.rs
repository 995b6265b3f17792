//! A card opened for the first time, and kernels launched for the first time, each step timed on the host's clock. It runs
//! in a process of its own, because a process starts a driver once.

use serde::{Deserialize, Serialize};

use crate::compare::compare;
use crate::kernels::IMAGES;
use crate::reference;
use crate::submit::{
    Buffer, Context, Error, HostClock, Launch, Loading, LoadingMode, Opening, Stream, StreamKind,
};
use cuda_std::call::Call;

/// Elements of each buffer: one block.
const ELEMS: usize = 256;
/// Launches of each kernel after its first.
const LATER: usize = 9;
/// Steps of the kernel that another is launched beside: some 10 ms.
const LONG_STEPS: u32 = 1 << 22;
/// The grind kernel's factor, summand and steps.
const GRIND: (f32, f32, u32) = (0.5, 1.0, 16);

/// What the steps took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FirstUse {
    /// Opening the card.
    pub opening: Opening,
    /// When the driver brings kernels to the card, as it says.
    pub loading_mode: Option<LoadingMode>,
    /// Each kernel's launches.
    pub kernels: Vec<KernelTimes>,
    /// Launches beside a kernel that runs.
    pub beside: Beside,
}

/// What launching a kernel took on the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelTimes {
    /// The kernel.
    pub kernel: String,
    /// The first launch of it.
    pub first_ns: u64,
    /// The launches after it.
    pub later_ns: Vec<u64>,
    /// Elements of its result that differ from the reference.
    pub wrong_elements: usize,
}

/// Whether a launch on one stream was over only when the kernel that ran on another one was.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Beside {
    /// The first launch of a kernel.
    pub first_waited: bool,
    /// A launch of a kernel that had been launched before.
    pub later_waited: bool,
}

/// Opens the card without bringing kernels to it, and launches them.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn run(ordinal: u32) -> Result<FirstUse, Error> {
    let (context, opening) = Context::open_timed(ordinal, IMAGES, Loading::LeftToTheDriver)?;
    let outcome = launches(&context).and_then(|kernels| Ok((kernels, beside(&context)?)));
    let loading_mode = context.module().loading_mode();
    let failures = context.finish();
    let (kernels, beside) = outcome?;
    match failures.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(FirstUse { opening, loading_mode, kernels, beside }),
    }
}

fn launches(context: &Context) -> Result<Vec<KernelTimes>, Error> {
    let stream = Stream::new(context, "stream", StreamKind::NonBlocking)?;
    let input: Vec<f32> = (0_u16..).take(ELEMS).map(f32::from).collect();
    let from = Buffer::from_slice(context, "input", &input)?;
    let out = Buffer::<f32>::new(context, "out", ELEMS)?;
    context.synchronize()?;
    let (a, b, steps) = GRIND;
    type Reference = fn(&[f32], &mut [f32]);
    let kernels: [(Call<'_>, Reference); 4] = [
        (gpu::forkjoin::grind_fma(&from, &out, steps, a, b), |input, out| {
            let (a, b, steps) = GRIND;
            reference::grind_fma(input, out, a, b, steps);
        }),
        (gpu::forkjoin::sum_four(&from, &from, &from, &from, &out), |input, out| {
            reference::sum_four(input, input, input, input, out);
        }),
        (gpu::streams::sweep_add(&from, &out), reference::streams::sweep_add),
        (gpu::streams::sweep_scale(&from, &out), reference::streams::sweep_scale),
    ];
    let mut times = Vec::new();
    for (call, reference) in kernels {
        let launch = || {
            let mut clock = HostClock::start();
            stream.launch(&Launch::new(1, ELEMS as u32), call.clone())?;
            let ns = clock.lap_ns();
            stream.synchronize()?;
            Ok::<_, Error>(ns)
        };
        let first_ns = launch()?;
        let later_ns = (0..LATER).map(|_| launch()).collect::<Result<_, _>>()?;
        let (mut got, mut want) = ([0.0; ELEMS], [0.0; ELEMS]);
        out.copy_to(&mut got)?;
        reference(&input, &mut want);
        let wrong_elements = compare(&got, &want, 0.0).mismatches;
        times.push(KernelTimes { kernel: call.kernel().name.to_owned(), first_ns, later_ns, wrong_elements });
    }
    Ok(times)
}

fn beside(context: &Context) -> Result<Beside, Error> {
    let (long, short) = (
        Stream::new(context, "long", StreamKind::NonBlocking)?,
        Stream::new(context, "short", StreamKind::NonBlocking)?,
    );
    let spun = Buffer::<u32>::new(context, "spun", 32)?;
    let readings = Buffer::<u64>::new(context, "readings", 1)?;
    let spin = |steps| long.launch(&Launch::new(1, 32), gpu::streams::spin_lcg(&spun, steps));
    // The long kernel's own first launch is not what is looked at.
    spin(1)?;
    context.synchronize()?;
    let waited = || {
        spin(LONG_STEPS)?;
        short.launch(&Launch::new(1, 1), gpu::clock::read_clock(&readings))?;
        let waited = long.query()?;
        context.synchronize()?;
        Ok::<_, Error>(waited)
    };
    Ok(Beside { first_waited: waited()?, later_waited: waited()? })
}
