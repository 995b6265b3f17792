//! A traced submission on the virtual card: it does what an untraced one does, and every warp says when and where it ran.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;
mod support;

use clap::Parser;
use host::args::{Cli, Command, ForkJoin};
use host::band::band;
use host::kernels::IMAGES;
use host::lesson::diamond::Diamond;
use host::submit::{Buffer, Context, Error, Event, Launch, Operation, Pinned, Stream, StreamKind, Trace};
use support::driver::{self, Driver};
use timeline::model::EdgeKind;

fn options(typed: &str) -> ForkJoin {
    let words = ["host", "forkjoin", "--device", "virtual"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Forkjoin(options) => options,
        other => panic!("{other:?}"),
    }
}

/// Every branch an odd number of elements, and the last block of the sum a part of one.
const SMALL: &str = "--elems 3001 --iters 64 --branches 4";

fn on_virtual<T>(typed: &str, test: impl FnOnce(&Context, &Diamond<'_>) -> T) -> T {
    let options = options(typed);
    card::on_card(&options.common, |context| {
        let input: Vec<f32> = (0..options.elems).map(|i| i as f32 * 0.01).collect();
        test(context, &Diamond::new(context, &options, &input).unwrap())
    })
}

type Submit = fn(&Diamond<'_>) -> Result<(), Error>;
const ORDERS: [Submit; 3] = [
    |diamond| diamond.submit_diamond(),
    |diamond| diamond.submit_serial(),
    |diamond| diamond.submit_broken(),
];

#[test]
fn a_traced_run_gives_the_same_bits_and_submits_the_same_operations() {
    for submit in &ORDERS[..2] {
        on_virtual(SMALL, |context, diamond| {
            let plain = context.logged(|| submit(diamond)).unwrap();
            diamond.synchronize().unwrap();
            let want = diamond.result().unwrap();
            let trace = context.traced(1, || diamond.zero_mid().and_then(|()| submit(diamond))).unwrap();
            assert_eq!(diamond.result().unwrap(), want);
            let log = trace.log.to_string();
            assert!(log.ends_with(&plain.to_string()), "{log}");
        });
    }
}

#[test]
fn every_warp_of_every_launch_started_before_it_ended_on_a_multiprocessor_of_the_card() {
    for submit in ORDERS {
        on_virtual(SMALL, |context, diamond| {
            let Trace { log, launches, transfers } = context.traced(0, || submit(diamond)).unwrap();
            let all = log.entries.iter().enumerate().filter_map(|(at, entry)| match &entry.operation {
                Operation::Launch { launch, .. } => Some((at, launch.grid.0 * launch.block.0.div_ceil(32))),
                _ => None,
            });
            let traced: Vec<_> = launches.iter().map(|one| (one.operation, one.warps.len() as u32)).collect();
            assert_eq!(traced, all.collect::<Vec<_>>());
            let warps: Vec<_> = launches.iter().flat_map(|launch| &launch.warps).collect();
            assert!(warps.iter().all(|warp| 0 < warp.start_ns && warp.start_ns <= warp.end_ns));
            assert!(warps.iter().all(|warp| warp.sm < context.card().sms));
            assert!(launches.iter().all(|launch| launch.warps_per_block == 8));
            assert_eq!(transfers, []);
        });
    }
}

#[test]
fn the_same_submission_has_the_same_times_on_any_number_of_threads_and_none_of_an_earlier_run() {
    let times = |threads: u32, warmups: u32| {
        on_virtual(&format!("{SMALL} --threads {threads}"), |context, diamond| {
            let trace = context.traced(warmups, || diamond.submit_broken()).unwrap();
            let band = band(&trace, "", context.card().sms, true);
            band.slices.iter().map(|slice| (slice.start_ns, slice.end_ns)).collect::<Vec<_>>()
        })
    };
    let once = times(1, 0);
    assert_eq!(times(2, 0), once);
    // The first run finds no element in the cache; a record of an earlier run would be off by far more.
    let again = times(1, 3);
    assert!(
        again.iter().zip(&once).all(|(again, once)| again.1.abs_diff(once.1) <= 1000),
        "{again:?} {once:?}"
    );
}

#[test]
fn a_submission_that_fails_leaves_nothing_traced_behind() {
    on_virtual(SMALL, |context, diamond| {
        let stream = Stream::new(context, "s", StreamKind::Blocking).unwrap();
        let buffer = Buffer::<u32>::new(context, "out", 64).unwrap();
        let too_large = || stream.launch(&Launch::new(1, 1025), gpu::streams::spin_lcg(&buffer, 1));
        let error = context.traced(0, too_large).unwrap_err().to_string();
        assert!(error.contains("spin_lcg") && error.contains("1025x1x1 threads"), "{error}");
        let log = context.logged(|| diamond.submit_serial()).unwrap();
        diamond.synchronize().unwrap();
        assert_eq!(log.to_string().lines().count(), 6);
    });
}

#[test]
fn a_submission_with_more_warps_than_there_is_room_for_is_run_once_more_with_room() {
    let _alone = card::alone();
    let (warps, driver) = driver::with(Driver::new(), || {
        let context = Context::open(0, IMAGES).unwrap();
        let warps = {
            let stream = Stream::new(&context, "s", StreamKind::Blocking).unwrap();
            let out = Buffer::<u32>::new(&context, "out", 64).unwrap();
            let submit = || stream.launch(&Launch::new(1 << 16, 1024), gpu::streams::spin_lcg(&out, 1));
            let trace = context.traced(1, submit).unwrap();
            trace.launches.iter().map(|launch| launch.warps.len()).collect::<Vec<_>>()
        };
        assert!(context.finish().is_empty());
        warps
    });
    assert_eq!(warps, [32 << 16]);
    // Once to learn how many there are, once to warm up, once for good.
    assert_eq!(driver.calls.iter().filter(|call| call.starts_with("cuLaunchKernel ")).count(), 3);
    assert!(driver.leaks().is_empty());
}

/// Kinds of edges with the names of the streams that they join.
fn drawn(submit: Submit) -> (Vec<String>, Vec<(String, Vec<usize>)>) {
    on_virtual(SMALL, |context, diamond| {
        let band = band(&context.traced(0, || submit(diamond)).unwrap(), "", context.card().sms, true);
        let stream = |end: timeline::model::End| band.streams[end.stream].name.clone();
        let edge = |edge: &timeline::model::Edge| {
            let ends =
                [edge.from, edge.to].map(|end| end.slice.map_or("-".to_owned(), |slice| slice.to_string()));
            format!(
                "{:?} {} {} to {} {} {}",
                edge.kind,
                edge.name,
                stream(edge.from),
                stream(edge.to),
                ends[0],
                ends[1]
            )
        };
        assert!(
            band.edges
                .iter()
                .filter(|edge| edge.kind == EdgeKind::Missing)
                .all(|edge| edge.words.contains("cause:"))
        );
        (
            band.edges.iter().map(edge).collect(),
            band.ranges.iter().map(|range| (range.name.clone(), range.slices.clone())).collect(),
        )
    })
}

#[test]
fn a_band_has_each_wait_as_an_edge_from_what_it_covers_to_what_waits() {
    let (edges, ranges) = drawn(ORDERS[0]);
    let branches = 1..=4;
    let fork = branches.clone().map(|j| format!("Event fork s0 to s{j} 0 {j}"));
    let join = branches.clone().map(|j| format!("Event done{j} s{j} to s0 {j} 5"));
    assert_eq!(edges, fork.chain(join.clone()).collect::<Vec<_>>());
    let range = |name: &str, slices: &[usize]| (name.to_owned(), slices.to_vec());
    assert_eq!(ranges, [range("upstream", &[0]), range("fork", &[1, 2, 3, 4]), range("join", &[5])]);

    let (edges, _) = drawn(ORDERS[1]);
    assert_eq!(edges, [""; 0]);

    let (edges, ranges) = drawn(ORDERS[2]);
    let empty = branches.clone().map(|j| format!("Empty fork-too-early s0 to s{j} - {j}"));
    let missing = branches.map(|j| format!("Missing mid s0 to s{j} 0 {j}"));
    assert_eq!(edges, empty.chain(join).chain(missing).collect::<Vec<_>>());
    assert_eq!(ranges, [range("broken-order", &[0, 1, 2, 3, 4, 5])]);
}

/// 4 MiB a copy: 76 us over the bus of the virtual H200.
const COPIED: usize = 1 << 20;

/// Two streams with every kind of copy and fill, a kernel, and an event between copies.
struct Copies<'c> {
    streams: [Stream<'c>; 2],
    from: Pinned<'c, f32>,
    to: [Buffer<'c, f32>; 2],
    back: Pinned<'c, f32>,
    copied: Event<'c>,
}

impl<'c> Copies<'c> {
    fn new(context: &'c Context) -> Self {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        let buffer = |name| Buffer::new(context, name, COPIED).unwrap();
        Copies {
            streams: [stream("s0"), stream("s1")],
            from: Pinned::new(context, "from", COPIED).unwrap(),
            to: [buffer("x"), buffer("y")],
            back: Pinned::new(context, "back", COPIED).unwrap(),
            copied: Event::ordering(context, "copied").unwrap(),
        }
    }

    fn submit(&self) -> Result<(), Error> {
        let ([s0, s1], [x, y]) = (&self.streams, &self.to);
        s0.zero(x)?;
        s0.copy_to_device(&self.from, x)?;
        s1.copy_part_to_device(&self.from, y, COPIED / 2..COPIED)?;
        s0.launch(&Launch::new(64, 256), gpu::streams::sweep_add(x, x))?;
        s0.record(&self.copied)?;
        s1.wait(&self.copied)?;
        s1.copy(x, y)?;
        s1.copy_part_to_host(y, &self.back, 7..COPIED)
    }
}

#[test]
fn copies_and_fills_are_slices_with_their_edges_and_the_log_has_nothing_of_the_clock() {
    on_virtual(SMALL, |context, _| {
        let copies = Copies::new(context);
        copies.from.write(&[1.0; COPIED]);
        let plain = context.logged(|| copies.submit()).unwrap();
        context.synchronize().unwrap();
        let want = copies.back.read();
        copies.back.write(&[0.0; COPIED]);
        let trace = context.traced(0, || copies.submit()).unwrap();
        assert_eq!((copies.back.read(), want[6..8].to_vec()), (want, vec![0.0, 2.0]));
        assert_eq!(trace.log.to_string(), plain.to_string());

        let band = band(&trace, "", context.card().sms, true);
        let names: Vec<_> = band.slices.iter().map(|slice| slice.name.as_str()).collect();
        let all = ["fill", "copy to device", "copy to device", "sweep_add", "copy", "copy to host"];
        assert_eq!(names, all);
        assert!(band.slices.iter().all(|slice| slice.blocks.is_empty() == (slice.name != "sweep_add")));
        // Within a stream, and over the edge, each starts when the one before has ended.
        for (earlier, later) in [(0, 1), (1, 3), (2, 4), (3, 4), (4, 5)] {
            let (earlier, later) = (&band.slices[earlier], &band.slices[later]);
            assert!(earlier.end_ns <= later.start_ns, "{} {}", earlier.name, later.name);
        }
        let edges: Vec<_> =
            band.edges.iter().map(|edge| (edge.kind, edge.from.slice, edge.to.slice)).collect();
        assert_eq!(edges, [(EdgeKind::Event, Some(3), Some(4))]);
        assert!(band.slices[5].details.contains(&("bytes".to_owned(), "4,194,276".to_owned())));
    });
}

#[test]
fn a_copy_takes_what_its_bytes_take_and_not_what_it_waits_for_its_engine() {
    on_virtual(SMALL, |context, _| {
        let copies = Copies::new(context);
        let ([s0, s1], [x, y]) = (&copies.streams, &copies.to);
        let submit = || {
            s0.copy_to_device(&copies.from, x)?;
            s1.copy_to_device(&copies.from, y)
        };
        let trace = context.traced(0, submit).unwrap();
        let [one, other] = trace.transfers[..] else { panic!("{:?}", trace.transfers) };
        assert!(other.start_ns < one.end_ns, "both had their turn: {one:?} {other:?}");
        let band = band(&trace, "", context.card().sms, true);
        for slice in &band.slices {
            let took_ns = slice.end_ns - slice.start_ns;
            assert!((76_000..90_000).contains(&took_ns), "{took_ns} ns for 4 MiB at 55 GB/s");
        }
        assert_eq!(band.slices[1].start_ns, band.slices[0].end_ns);
        let waited =
            |slice: usize| band.slices[slice].details.iter().any(|(word, _)| word.contains("waited"));
        assert_eq!([waited(0), waited(1)], [false, true]);
    });
}

#[test]
fn a_missing_edge_between_copies_is_drawn_between_them() {
    on_virtual(SMALL, |context, _| {
        let copies = Copies::new(context);
        let ([s0, s1], [x, _]) = (&copies.streams, &copies.to);
        let submit = || {
            s0.copy_to_device(&copies.from, x)?;
            s1.copy_to_host(x, &copies.back)
        };
        let band = band(&context.traced(0, submit).unwrap(), "", context.card().sms, true);
        let edges: Vec<_> = band.edges.iter().map(|edge| (edge.kind, edge.from, edge.to)).collect();
        let end = |at| timeline::model::End { stream: at, slice: Some(at) };
        assert_eq!(edges, [(EdgeKind::Missing, end(0), end(1))]);
    });
}

#[test]
fn the_clock_is_read_around_a_copy_only_where_a_run_is_traced() {
    let _alone = card::alone();
    let launches = |traced: bool| {
        let (_, driver) = driver::with(Driver::new(), || {
            let context = Context::open(0, IMAGES).unwrap();
            {
                let stream = Stream::new(&context, "s", StreamKind::Blocking).unwrap();
                let out = Buffer::<u32>::new(&context, "out", 64).unwrap();
                let submit = || stream.zero(&out);
                match traced {
                    true => drop(context.traced(0, submit).unwrap()),
                    false => drop(context.logged(submit).unwrap()),
                }
            }
            assert!(context.finish().is_empty());
        });
        driver.calls.iter().filter(|call| call.starts_with("cuLaunchKernel")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(launches(false), [""; 0]);
    // As urgent as can be: the attribute of a launch's priority.
    assert_eq!(launches(true), ["cuLaunchKernelEx 1x1 8=-5"; 2]);
}
