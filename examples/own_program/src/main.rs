//! Two kernels on two streams. Every call succeeds, and one ordering edge between them is missing: run it, and it says which.

use std::process::ExitCode;

use streamlab::{Context, DeviceBuffer, Error, Event, LaunchConfig, Options, Stream, StreamKind};

/// The kernels' PTX, which the build script wrote.
mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

const ELEMENTS: usize = 1 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if error.is_bad_input() { 2 } else { 1 })
        }
    }
}

fn run() -> Result<(), Error> {
    // A GPU where there is one, else the virtual H200; STREAMLAB_DEVICE and STREAMLAB_SCHEDULE choose.
    let context = Context::open(Options::from_env()?, ptx::IMAGES)?;
    println!("device: {}", context.device());

    let a = Stream::new(&context, "a", StreamKind::NonBlocking)?;
    let b = Stream::new(&context, "b", StreamKind::NonBlocking)?;
    let squared = Event::ordering(&context, "squared")?;

    let data: Vec<f32> = (0..ELEMENTS).map(|i| (i % 100) as f32).collect();
    let input = DeviceBuffer::from_slice(&context, "input", &data)?;
    let squares = DeviceBuffer::zeroed(&context, "squares", ELEMENTS)?;
    let sums = DeviceBuffer::zeroed(&context, "sums", ELEMENTS)?;
    let config = LaunchConfig::for_elements(ELEMENTS, 256);

    let run = streamlab::trace(&context, || {
        a.record(&squared)?;
        a.launch(config, kernels::square(&input, &squares))?;
        b.wait(&squared)?;
        b.launch(config, kernels::add(&input, &squares, &sums))?;
        b.synchronize()
    })?;

    println!("\n{run}\n\n{}\n", run.missing_edges());
    run.write_timeline("timeline.html")?;
    println!("wrote timeline.html");

    let sums = sums.to_vec()?;
    let wrong = sums.iter().zip(&data).filter(|(sum, x)| **sum != **x + **x * **x).count();
    println!("{wrong} of {ELEMENTS} sums are wrong");
    Ok(())
}
