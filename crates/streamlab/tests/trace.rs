//! A traced submission on the virtual device: it does what an untraced one does, and every warp, copy and memset says when it ran.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::num::NonZeroUsize;

use gpu::streams::{spin_lcg, sweep_add, sweep_scale};
use streamlab::{
    Context, DeviceBuffer, Error, Event, LaunchConfig, Options, PinnedBuffer, Stream, StreamKind, Trace,
    clock_step_ns,
};
use support::{H200, on_device};
use timeline::model::{EdgeKind, End};

/// 4 MiB a copy: 76 us over the bus of the virtual H200.
const COPIED: usize = 1 << 20;

/// Two streams with every kind of copy, a memset, a kernel, and an event between copies.
struct Program<'c> {
    streams: [Stream<'c>; 2],
    from: PinnedBuffer<'c, f32>,
    ones: DeviceBuffer<'c, f32>,
    to: [DeviceBuffer<'c, f32>; 2],
    back: PinnedBuffer<'c, f32>,
    copied: Event<'c>,
}

impl<'c> Program<'c> {
    fn new(context: &'c Context) -> Self {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        let buffer = |name| DeviceBuffer::zeroed(context, name, COPIED).unwrap();
        Program {
            streams: [stream("s0"), stream("s1")],
            from: PinnedBuffer::from_slice(context, "from", &vec![1.0; COPIED]).unwrap(),
            ones: DeviceBuffer::from_slice(context, "ones", &vec![1.0; COPIED]).unwrap(),
            to: [buffer("x"), buffer("y")],
            back: PinnedBuffer::new(context, "back", COPIED).unwrap(),
            copied: Event::ordering(context, "copied").unwrap(),
        }
    }

    fn submit(&self) -> Result<(), Error> {
        let ([s0, s1], [x, y]) = (&self.streams, &self.to);
        s0.memset_zeros(x)?;
        s0.copy_to_device(&self.from, x)?;
        s1.copy_to_device(&self.from.slice(COPIED / 2..), &y.slice(COPIED / 2..))?;
        s0.launch(LaunchConfig::new(64, 256), sweep_add(&self.ones, x))?;
        s0.record(&self.copied)?;
        s1.wait(&self.copied)?;
        s1.copy(x, y)?;
        s1.copy_to_host(&y.slice(7..), &self.back.slice(7..))
    }
}

#[test]
fn a_traced_run_gives_the_same_bits_and_the_log_has_nothing_of_the_clock() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let plain = streamlab::check(context, || p.submit()).unwrap();
        context.synchronize().unwrap();
        let want = p.back.read();
        p.back.write(&vec![0.0; COPIED]);
        let trace = Trace::of(context, 1, || p.submit()).unwrap();
        assert_eq!((p.back.read(), want[6..8].to_vec()), (want, vec![0.0, 2.0]));
        assert_eq!(trace.log.to_string(), plain.to_string());
        let log = plain.to_string();
        let want = "memset x on s0\ncopy from to x on s0\ncopy from to y on s1\nlaunch sweep_add on s0, reads ones, writes x\n\
                    record copied on s0\ns1 waits for copied\ncopy x to y on s1\ncopy y to back on s1\n";
        assert_eq!(log, want);
    });
}

#[test]
fn copies_and_memsets_are_slices_with_their_edges() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let trace = Trace::of(context, 0, || p.submit()).unwrap();
        let run = trace.band("run", context.device().sms, true);
        let names: Vec<_> = run.slices.iter().map(|slice| slice.name.as_str()).collect();
        assert_eq!(
            names,
            ["memset", "copy to device", "copy to device", "sweep_add", "copy", "copy to host"]
        );
        assert!(run.slices.iter().all(|slice| slice.blocks.is_empty() == (slice.name != "sweep_add")));
        // Within a stream, and over the edge, each starts when the one before has ended.
        for (earlier, later) in [(0, 1), (1, 3), (2, 4), (3, 4), (4, 5)] {
            let (earlier, later) = (&run.slices[earlier], &run.slices[later]);
            assert!(earlier.end_ns <= later.start_ns, "{} {}", earlier.name, later.name);
        }
        let edges: Vec<_> =
            run.edges.iter().map(|edge| (edge.kind, edge.from.slice, edge.to.slice)).collect();
        assert_eq!(edges, [(EdgeKind::Event, Some(3), Some(4))]);
        assert!(run.slices[5].details.contains(&("bytes".to_owned(), "4,194,276".to_owned())));
        assert_eq!(
            run.streams.iter().map(|stream| stream.kind.as_str()).collect::<Vec<_>>(),
            ["non-blocking"; 2]
        );
    });
}

#[test]
fn every_warp_started_before_it_ended_on_a_multiprocessor_of_the_device() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let Trace { launches, .. } = Trace::of(context, 0, || p.submit()).unwrap();
        let [launch] = &launches[..] else { panic!("{} launches", launches.len()) };
        assert_eq!((launch.operation, launch.warps_per_block, launch.warps.len()), (3, 8, 64 * 8));
        for warp in &launch.warps {
            assert!(0 < warp.start_ns && warp.start_ns <= warp.end_ns && warp.sm < context.device().sms);
        }
    });
}

#[test]
fn times_do_not_depend_on_the_number_of_threads_nor_on_an_earlier_run() {
    let times = |threads: usize, warmups: u32| {
        on_device(Options { threads: NonZeroUsize::new(threads), ..H200.into() }, |context| {
            let p = Program::new(context);
            let trace = Trace::of(context, warmups, || p.submit()).unwrap();
            let run = trace.band("", context.device().sms, true);
            run.slices.iter().map(|slice| (slice.start_ns, slice.end_ns)).collect::<Vec<_>>()
        })
    };
    let once = times(1, 0);
    assert_eq!(times(2, 0), once);
    // The first run finds no element in the cache; a record of an earlier run would be off by far more.
    let again = times(1, 2);
    assert!(
        again.iter().zip(&once).all(|(again, once)| again.1.abs_diff(once.1) <= 3000),
        "{again:?} {once:?}"
    );
}

#[test]
fn a_copy_takes_what_its_bytes_take_and_not_what_it_waits_for_its_engine() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let ([s0, s1], [x, y]) = (&p.streams, &p.to);
        let trace = Trace::of(context, 0, || {
            s0.copy_to_device(&p.from, x)?;
            s1.copy_to_device(&p.from, y)
        })
        .unwrap();
        let [one, other] = trace.transfers[..] else { panic!("{:?}", trace.transfers) };
        assert!(other.start_ns < one.end_ns, "both had their turn: {one:?} {other:?}");
        let run = trace.band("", context.device().sms, true);
        for slice in &run.slices {
            let took_ns = slice.end_ns - slice.start_ns;
            assert!((76_000..90_000).contains(&took_ns), "{took_ns} ns for 4 MiB at 55 GB/s");
        }
        assert_eq!(run.slices[1].start_ns, run.slices[0].end_ns);
        let waited = |slice: usize| run.slices[slice].details.iter().any(|(word, _)| word.contains("waited"));
        assert_eq!([waited(0), waited(1)], [false, true]);
    });
}

#[test]
fn a_missing_edge_and_a_wait_that_orders_nothing_are_drawn() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let ([s0, s1], [x, _]) = (&p.streams, &p.to);
        let trace = Trace::of(context, 0, || {
            s1.wait(&p.copied)?;
            s0.copy_to_device(&p.from, x)?;
            s1.copy_to_host(x, &p.back)
        })
        .unwrap();
        let run = trace.band("", context.device().sms, true);
        // The first row is that of the stream that came first.
        let row = |name: &str| run.streams.iter().position(|stream| stream.name == name).unwrap();
        let [s0, s1] = [row("s0"), row("s1")];
        let edges: Vec<_> = run.edges.iter().map(|edge| (edge.kind, edge.from, edge.to)).collect();
        let empty = (EdgeKind::Empty, End { stream: s1, slice: None }, End { stream: s1, slice: Some(1) });
        let missing =
            (EdgeKind::Missing, End { stream: s0, slice: Some(0) }, End { stream: s1, slice: Some(1) });
        assert_eq!(edges, [empty, missing]);
        assert!(run.edges[1].words.contains("cause:"), "{}", run.edges[1].words);
        // Without the search for missing edges only what was submitted is drawn.
        assert_eq!(trace.band("", context.device().sms, false).edges.len(), 1);
    });
}

#[test]
fn a_submission_with_more_warps_than_there_is_room_for_runs_once_more_with_room() {
    on_device(H200, |context| {
        let stream = Stream::new(context, "s", StreamKind::Blocking).unwrap();
        let out = DeviceBuffer::<u32>::new(context, "out", 64).unwrap();
        let runs = std::cell::Cell::new(0);
        let trace = Trace::of(context, 0, || {
            runs.set(runs.get() + 1);
            stream.launch(LaunchConfig::new(1 << 14, 1024), spin_lcg(&out, 1))
        })
        .unwrap();
        assert_eq!((trace.launches[0].warps.len(), runs.get()), (32 << 14, 2));
        assert!(trace.launches[0].warps.iter().all(|warp| warp.start_ns > 0));
    });
}

#[test]
fn a_submission_that_fails_leaves_nothing_traced_behind() {
    on_device(H200, |context| {
        let stream = Stream::new(context, "s", StreamKind::Blocking).unwrap();
        let out = DeviceBuffer::<u32>::new(context, "out", 64).unwrap();
        let too_large = || stream.launch(LaunchConfig::new(1, 1025), spin_lcg(&out, 1));
        let error = Trace::of(context, 0, too_large).unwrap_err().to_string();
        assert!(error.contains("spin_lcg") && error.contains("1025x1x1 threads"), "{error}");
        let log =
            streamlab::check(context, || stream.launch(LaunchConfig::new(1, 64), spin_lcg(&out, 1))).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(log.to_string().lines().count(), 1);
    });
}

#[test]
fn a_run_writes_each_form_of_timeline_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("streamlab-run-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    on_device(H200, |context| {
        assert_eq!(clock_step_ns(context).unwrap(), 32);
        let stream = Stream::new(context, "s", StreamKind::Blocking).unwrap();
        let (x, y) = (
            DeviceBuffer::<f32>::zeroed(context, "x", 64).unwrap(),
            DeviceBuffer::<f32>::zeroed(context, "y", 64).unwrap(),
        );
        let run = streamlab::trace(context, || stream.launch(LaunchConfig::new(1, 64), sweep_scale(&x, &y)))
            .unwrap();
        assert!(run.missing_edges().is_empty());
        assert!(run.to_string().contains("sweep_scale"));
        for (name, holds) in [("a.svg", "<svg"), ("a.html", "<html"), ("a.JSON", "traceEvents")] {
            run.write_timeline(folder.join(name)).unwrap();
            assert!(std::fs::read_to_string(folder.join(name)).unwrap().contains(holds), "{name}");
        }
        for refused in ["a.png", "no/such/a.svg", ""] {
            assert!(matches!(run.write_timeline(folder.join(refused)), Err(Error::File { .. })), "{refused}");
        }
    });
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    std::fs::remove_dir_all(&folder).unwrap();
}
