//! What safe code cannot do: each scene freed memory, mixed contexts or kept a stale trace in an earlier design. All of it is safe code.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use gpu::forkjoin::sum_four;
use gpu::streams::{sweep_add, sweep_scale};
use streamlab::{
    Context, Device, DeviceBuffer, Error, Event, LaunchConfig, Model, Options, PageableBuffer, PinnedBuffer,
    Schedule, Stream, StreamKind,
};
use support::{H200, IMAGES, alone, on_device};

/// 16 MiB of f32: malloc gives that back to the system.
const BIG: usize = 4 << 20;
const ONE_BLOCK: LaunchConfig = LaunchConfig::new(1, 64);

fn non_blocking<'c>(context: &'c Context, name: &str) -> Stream<'c> {
    Stream::new(context, name, StreamKind::NonBlocking).unwrap()
}

#[test]
fn another_driver_is_refused_while_a_context_is_open_and_the_same_one_is_shared() {
    let _alone = alone();
    let context = Context::open(H200, *IMAGES).unwrap();
    let pinned = PinnedBuffer::from_slice(&context, "pinned", &[1.0_f32; 4]).unwrap();
    let late = Options { schedule: Schedule::Late, ..H200.into() };
    for other in [Device::Virtual(Model::T4).into(), late, Device::Gpu(0).into()] {
        let refused = Context::open(other, *IMAGES).unwrap_err();
        assert!(matches!(refused, Error::DriverInUse { .. }), "{refused}");
    }
    assert_eq!(pinned.read(), [1.0; 4]);
    let second = Context::open(Device::Auto, *IMAGES).unwrap();
    assert_eq!(second.opened(), H200);
    assert!(second.finish().is_empty());
    assert_eq!(pinned.read(), [1.0; 4]);
    drop(pinned);
    assert!(context.finish().is_empty());
    // With the last context the choice is free again.
    assert!(Context::open(Device::Virtual(Model::T4), *IMAGES).is_err(), "there is no PTX for a T4 here");
    assert!(Context::open(late, *IMAGES).unwrap().finish().is_empty());
}

#[test]
fn what_another_context_made_is_refused_before_the_driver_sees_it() {
    on_device(H200, |a| {
        let b = Context::open(H200, *IMAGES).unwrap();
        {
            let (stream, stream_b) = (non_blocking(a, "a"), non_blocking(&b, "b"));
            let (event, event_b) = (Event::timing(a, "e").unwrap(), Event::timing(&b, "e-of-b").unwrap());
            let own = DeviceBuffer::from_slice(a, "own", &[1.0_f32; 64]).unwrap();
            let foreign = DeviceBuffer::from_slice(&b, "of-b", &[1.0_f32; 64]).unwrap();
            let host = PinnedBuffer::<f32>::new(&b, "host-of-b", 64).unwrap();
            let graph = stream_b.capture(|| stream_b.memset_zeros(&foreign)).unwrap().instantiate().unwrap();
            let thread = streamlab::HostThread::new(&b).unwrap();
            let outcomes = [
                stream.launch(ONE_BLOCK, sweep_add(&own, &foreign)),
                stream.launch(ONE_BLOCK, sweep_add(&foreign, &own)),
                stream.record(&event_b),
                stream.wait(&event_b),
                stream.memset_zeros(&foreign),
                stream.copy(&own, &foreign),
                stream.copy(&foreign.slice(..8), &own),
                stream.copy_to_device(&host, &own),
                stream.copy_to_host(&own, &host.slice(..)),
                stream.launch_graph(&graph),
                stream.launch_from(&thread, ONE_BLOCK, sweep_add(&own, &own)),
                Event::elapsed_ms(&event, &event_b).map(|_| ()),
            ];
            for (at, outcome) in outcomes.into_iter().enumerate() {
                let refused = outcome.unwrap_err();
                assert!(matches!(refused, Error::OtherContext { .. }), "{at}: {refused}");
                assert!(refused.to_string().contains("soundness.rs"), "{refused}");
            }
            // Each of its own context works, in turn on one thread.
            stream.launch(ONE_BLOCK, sweep_scale(&own, &DeviceBuffer::new(a, "out", 64).unwrap())).unwrap();
            stream_b.launch_graph(&graph).unwrap();
            stream_b.synchronize().unwrap();
            assert_eq!(foreign.to_vec().unwrap(), [0.0; 64]);
        }
        assert!(b.finish().is_empty());
    });
}

#[test]
fn memory_dropped_during_a_capture_is_freed_after_it_and_the_capture_survives() {
    on_device(H200, |context| {
        let (one, two) = (non_blocking(context, "one"), non_blocking(context, "two"));
        let buffer = DeviceBuffer::<f32>::new(context, "buffer", BIG).unwrap();
        let memory = PageableBuffer::from_slice(context, "memory", &[3.0_f32; 8]).unwrap();
        let long = PageableBuffer::<f32>::new(context, "long", BIG).unwrap();
        let graph = one.capture(|| one.copy_to_device(&long, &buffer)).unwrap().instantiate().unwrap();
        one.launch_graph(&graph).unwrap();
        let captured = two.capture(|| {
            drop(long);
            two.copy_to_device(&memory, &buffer.slice(..8))?;
            drop(memory);
            Ok(())
        });
        // The graph keeps what its node reads, though its buffer is gone.
        let second = captured.unwrap().instantiate().unwrap();
        one.synchronize().unwrap();
        two.launch_graph(&second).unwrap();
        two.synchronize().unwrap();
        assert_eq!(buffer.to_vec().unwrap()[..9], [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 0.0]);
    });
}

#[test]
fn a_graph_keeps_the_memory_of_its_nodes_through_instantiation_and_every_launch() {
    on_device(H200, |context| {
        let stream = non_blocking(context, "s");
        let out = DeviceBuffer::<f32>::zeroed(context, "out", 64).unwrap();
        let graph = {
            let from = DeviceBuffer::from_slice(context, "from", &[21.0_f32; 64]).unwrap();
            stream.capture(|| stream.launch(ONE_BLOCK, sweep_scale(&from, &out))).unwrap()
        };
        let exec = graph.instantiate().unwrap();
        drop(graph);
        // Were the memory free, this would take its place.
        let _other = DeviceBuffer::<f32>::zeroed(context, "other", 64).unwrap();
        stream.launch_graph(&exec).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(out.to_vec().unwrap(), [42.0; 64]);
    });
}

#[test]
fn a_panic_in_a_submission_ends_the_trace_the_recording_and_the_capture() {
    on_device(H200, |context| {
        let stream = non_blocking(context, "s");
        let from = DeviceBuffer::from_slice(context, "from", &[1.0_f32; 64]).unwrap();
        let to = DeviceBuffer::<f32>::new(context, "to", 64).unwrap();
        let panicked = |run: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        panicked(&|| _ = streamlab::trace(context, || panic!("in the submission")));
        panicked(&|| _ = streamlab::check(context, || panic!("in the submission")));
        panicked(&|| _ = stream.capture(|| panic!("in the capture")));
        // Nothing writes to the trace's buffer any more, which is gone, and the stream is captured no more.
        stream.launch(ONE_BLOCK, sweep_scale(&from, &to)).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(to.to_vec().unwrap(), [2.0; 64]);
        let log = streamlab::check(context, || stream.launch(ONE_BLOCK, sweep_scale(&from, &to))).unwrap();
        assert_eq!(log.program.operations.len(), 1);
    });
}

#[test]
fn a_safe_kernel_is_not_launched_with_an_argument_that_overlaps_what_it_writes() {
    on_device(H200, |context| {
        let stream = non_blocking(context, "s");
        let b = DeviceBuffer::from_slice(context, "b", &[1.0_f32; 64]).unwrap();
        let out = DeviceBuffer::<f32>::zeroed(context, "out", 64).unwrap();
        for refused in [
            stream.launch(ONE_BLOCK, sum_four(&b, &b, &b, &b, &b)),
            stream.launch(ONE_BLOCK, sweep_add(&b, &b)),
            stream.launch(ONE_BLOCK, sweep_add(&b.slice(..40), &b.slice(24..))),
        ] {
            assert!(matches!(refused, Err(Error::Overlap { .. })), "{refused:?}");
        }
        stream.launch(ONE_BLOCK, sum_four(&b, &b, &b, &b, &out)).unwrap();
        stream.launch(ONE_BLOCK, sweep_add(&b.slice(..32), &b.slice(32..))).unwrap();
        stream.synchronize().unwrap();
        assert_eq!((out.to_vec().unwrap()[0], b.to_vec().unwrap()[63]), (4.0, 2.0));
    });
}

#[test]
fn a_refused_allocation_keeps_the_drivers_code_and_the_callers_line() {
    on_device(H200, |context| {
        let stream = non_blocking(context, "s");
        let mut codes = Vec::new();
        let outcome = stream.capture(|| {
            let errors = [
                DeviceBuffer::<f32>::new(context, "x", 4).unwrap_err(),
                PinnedBuffer::<f32>::new(context, "y", 4).unwrap_err(),
            ];
            for error in errors {
                assert!(error.to_string().contains("soundness.rs"), "{error}");
                codes.push(error.code());
            }
            Ok(())
        });
        assert_eq!(codes[0], Some(900), "an allocation in a capture");
        assert!(outcome.is_err(), "the capture is spoilt");
        for huge in [
            DeviceBuffer::<f64>::new(context, "huge", usize::MAX / 2).map(|_| ()),
            PinnedBuffer::<f64>::new(context, "huge", usize::MAX / 2).map(|_| ()),
            PageableBuffer::<f64>::new(context, "huge", usize::MAX / 2).map(|_| ()),
        ] {
            assert_eq!(huge.unwrap_err().code(), Some(2));
        }
        for none in [
            DeviceBuffer::<f32>::new(context, "none", 0).map(|_| ()),
            DeviceBuffer::<f32>::from_slice(context, "none", &[]).map(|_| ()),
            PinnedBuffer::<f32>::new(context, "none", 0).map(|_| ()),
            PageableBuffer::<f32>::new(context, "none", 0).map(|_| ()),
        ] {
            assert!(matches!(none, Err(Error::NoBytes { .. })), "{none:?}");
        }
    });
}

#[test]
fn a_constructor_that_returned_has_finished_whatever_the_size_and_the_schedule() {
    for schedule in [Schedule::Earliest, Schedule::Late] {
        on_device(Options { schedule, ..H200.into() }, |context| {
            for elements in [1, 100, 1_000, 10_000, 100_000] {
                let stream = non_blocking(context, "s");
                let data: Vec<f32> = (0..elements).map(|i| i as f32).collect();
                let from = DeviceBuffer::from_slice(context, "from", &data).unwrap();
                let out = DeviceBuffer::<f32>::zeroed(context, "out", elements).unwrap();
                let launch = LaunchConfig::for_elements(elements, 256);
                let log =
                    streamlab::check(context, || stream.launch(launch, sweep_scale(&from, &out))).unwrap();
                assert!(log.missing_edges().is_empty());
                stream.synchronize().unwrap();
                let want: Vec<f32> = data.iter().map(|x| 2.0 * x).collect();
                assert!(out.to_vec().unwrap() == want, "{elements} elements, {schedule:?}");
            }
        });
    }
}

#[test]
fn an_identity_of_one_context_names_nothing_in_the_log_of_another() {
    on_device(H200, |a| {
        let b = Context::open(H200, *IMAGES).unwrap();
        {
            let (first, other) = (
                DeviceBuffer::from_slice(a, "first-of-a", &[1.0_f32; 64]).unwrap(),
                DeviceBuffer::<f32>::new(&b, "first-of-b", 64).unwrap(),
            );
            let stream = non_blocking(a, "s");
            let out = DeviceBuffer::<f32>::new(a, "out", 64).unwrap();
            let log = streamlab::check(a, || stream.launch(ONE_BLOCK, sweep_scale(&first, &out))).unwrap();
            assert_eq!(log.to_string(), "launch sweep_scale on s, reads first-of-a, writes out\n");
            assert_eq!(other.name(), "first-of-b");
        }
        assert!(b.finish().is_empty());
    });
}

#[test]
fn memory_that_was_forgotten_is_freed_with_its_context() {
    on_device(H200, |context| {
        for _ in 0..3 {
            let buffer = DeviceBuffer::<f32>::new(context, "forgotten", BIG).unwrap();
            std::mem::forget(buffer);
            std::mem::forget(PinnedBuffer::<f32>::new(context, "forgotten", 8).unwrap());
            std::mem::forget(PageableBuffer::<f32>::new(context, "forgotten", 8).unwrap());
        }
    });
}

#[test]
fn memory_in_use_by_queued_work_outlives_its_buffer() {
    on_device(H200, |context| {
        let stream = non_blocking(context, "s");
        let out = DeviceBuffer::<f32>::zeroed(context, "out", BIG).unwrap();
        let log = streamlab::check(context, || {
            let pinned = PinnedBuffer::from_slice(context, "pinned", &vec![5.0_f32; BIG])?;
            stream.copy_to_device(&pinned, &out)
            // `pinned` is dropped here, with the copy in flight.
        })
        .unwrap();
        assert!(
            log.to_string().ends_with("host waits for the device, to free host memory `pinned`\n"),
            "{log}"
        );
        assert_eq!(out.to_vec().unwrap(), vec![5.0; BIG]);
    });
}
