//! Whichever driver call fails, the error names it and its caller, and everything else is released.

#[path = "support/faulty.rs"]
mod faulty;
mod support;

use cuda_driver::Symbol;
use faulty::{Faulty, with};
use gpu::streams::sweep_scale;
use streamlab::{
    Context, Device, DeviceBuffer, Error, Event, HostThread, LaunchConfig, PageableBuffer, PinnedBuffer,
    Stream, StreamKind,
};
use support::{IMAGES, alone};

const ONE_BLOCK: LaunchConfig = LaunchConfig::new(1, 64);

/// A program that makes every call of the library, and what failed to be released after it.
fn program() -> Result<Vec<Error>, Error> {
    let context = Context::open(Device::Installed(0), *IMAGES)?;
    let outcome = calls(&context);
    let released = context.finish();
    outcome.map(|()| released)
}

fn calls(context: &Context) -> Result<(), Error> {
    context.priorities()?;
    context.resident_blocks(sweep_scale::KERNEL, 256)?;
    let s = Stream::new(context, "s", StreamKind::NonBlocking)?;
    let urgent = Stream::with_priority(context, "urgent", StreamKind::Blocking, -1)?;
    urgent.priority()?;
    let (start, stop) = (Event::timing(context, "start")?, Event::timing(context, "stop")?);
    let from = DeviceBuffer::from_slice(context, "from", &[1.0_f32; 64])?;
    let to = DeviceBuffer::<f32>::zeroed(context, "to", 64)?;
    let pinned = PinnedBuffer::<f32>::new(context, "pinned", 64)?;
    let pageable = PageableBuffer::<f32>::new(context, "pageable", 64)?;
    s.record(&start)?;
    s.launch(ONE_BLOCK, sweep_scale(&from, &to))?;
    s.launch(ONE_BLOCK.programmatic(), sweep_scale(&from, &to))?;
    urgent.wait(&start)?;
    s.memset_zeros(&to)?;
    s.copy(&from, &to)?;
    s.copy_to_device(&pageable, &to)?;
    s.copy_to_host(&to, &pinned)?;
    s.record(&stop)?;
    let thread = HostThread::new(context)?;
    s.launch_from(&thread, ONE_BLOCK, sweep_scale(&from, &to))?;
    s.synchronize()?;
    s.query()?;
    stop.synchronize()?;
    stop.query()?;
    Event::elapsed_ms(&start, &stop)?;
    let graph = s.capture(|| {
        s.memset_zeros(&to)?;
        s.launch(ONE_BLOCK, sweep_scale(&from, &to))
    })?;
    graph.topology()?;
    s.launch_graph(&graph.instantiate()?)?;
    context.synchronize()?;
    to.to_vec().map(drop)
}

#[test]
fn whichever_call_fails_the_error_names_it_and_its_caller_and_the_rest_is_released() {
    let _alone = alone();
    let (outcome, sound) = with(Faulty::default(), program);
    assert!(outcome.unwrap().is_empty() && sound.leaks().is_empty(), "{:?}", sound.leaks());
    for (number, &(symbol, _)) in sound.calls.iter().enumerate() {
        let name = symbol.to_string();
        let (outcome, after) = with(Faulty { fails: Some((number, 999)), ..Faulty::default() }, program);
        let error = match outcome {
            Err(error) => error.to_string(),
            Ok(released) => {
                let first = released
                    .first()
                    .unwrap_or_else(|| panic!("{name} (call {number}) failed and nobody said so"));
                first.to_string()
            }
        };
        assert!(error.contains("CUDA_ERROR_UNKNOWN (999"), "{name}: {error}");
        assert!(error.contains(name.trim_end_matches("_v2")), "{name}: {error}");
        assert!(error.contains(".rs:") && !error.contains('\n'), "{name}: {error}");
        // What could not be released is all that is left; memory also where the wait for its last user failed. A capture that this
        // fault left open lets nobody wait any more.
        let left: usize = after.leaks().iter().map(|(_, count)| count).sum();
        let may_leave = name.contains("Destroy")
            || name.contains("Free")
            || name.contains("Release")
            || matches!(symbol, Symbol::cuModuleUnload | Symbol::cuCtxSynchronize);
        let most = if symbol == Symbol::cuStreamEndCapture { 9 } else { usize::from(may_leave) };
        assert!(left <= most, "{name} (call {number}) left {:?}", after.leaks());
    }
}

#[test]
fn a_sticky_error_names_the_launches_that_may_have_caused_it_and_memory_is_freed() {
    let _alone = alone();
    let (_, sound) = with(Faulty::default(), program);
    let wait = sound.calls.iter().rposition(|(symbol, _)| *symbol == Symbol::cuMemcpyDtoH_v2).unwrap();
    let (outcome, after) = with(Faulty { fails: Some((wait, 700)), ..Faulty::default() }, program);
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), Some(700));
    assert!(after.leaks().is_empty(), "{:?}", after.leaks());
}

#[test]
fn memory_that_does_not_suffice_is_bad_input_with_both_numbers() {
    let _alone = alone();
    let (_, sound) = with(Faulty::default(), program);
    let first = sound.calls.iter().position(|(symbol, _)| *symbol == Symbol::cuMemAlloc_v2).unwrap();
    let (outcome, after) = with(Faulty { fails: Some((first, 2)), ..Faulty::default() }, program);
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { needed_bytes: 256, .. }) && error.is_bad_input(), "{error}");
    assert!(after.leaks().is_empty());
}
