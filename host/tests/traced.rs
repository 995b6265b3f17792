//! A traced submission on the virtual card: it does what an untraced one does, and every warp says when and where it ran.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::{Mutex, PoisonError};

use clap::Parser;
use host::args::{Cli, Command, ForkJoin};
use host::band::band;
use host::kernels::IMAGES;
use host::lesson::diamond::Diamond;
use host::submit::{Buffer, Context, Error, Launch, Operation, Stream, StreamKind, Trace, open_driver};
use support::driver::{self, Driver};
use timeline::model::EdgeKind;

/// One test at a time: the driver's table belongs to the process.
static CARD: Mutex<()> = Mutex::new(());

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
    let _alone = CARD.lock().unwrap_or_else(PoisonError::into_inner);
    let options = options(typed);
    open_driver(&options.common).unwrap();
    let context = Context::open(0, IMAGES).unwrap();
    let outcome = {
        let input: Vec<f32> = (0..options.elems).map(|i| i as f32 * 0.01).collect();
        test(&context, &Diamond::new(&context, &options, &input).unwrap())
    };
    assert!(context.finish().is_empty());
    outcome
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
            let Trace { log, launches } = context.traced(0, || submit(diamond)).unwrap();
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
    let _alone = CARD.lock().unwrap_or_else(PoisonError::into_inner);
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
