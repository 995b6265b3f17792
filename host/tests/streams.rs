//! The streams lesson on virtual devices: what its parts submit, its checks by identifier and verdict, and each of them failing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use gpu::streams::{sweep_add, sweep_scale};
use host::check::Check;
use host::check::Verdict::{self, Fail, NotJudged, Pass};
use host::lessons::streams::{
    EVERY_STEP, HIDES, MIN_SWEEP_MS, Program, SAVES, TAKES_TURNS, THREADS, WAITS, hidden_sweeps, large_elems,
    no_room, ratio, reasons_against_ratios, sweeps_after_spin, too_short,
};
use host::overlap::{Interval, block_intervals, intervals};
use streamlab::{
    Device, DeviceBuffer, DeviceProperties, Error, LaunchConfig, Model, Stream, StreamKind, Trace,
};
use support::{failed, lesson, on_device, verdict, verdicts};

const CHECKS: [&str; 14] = [
    "sweep_add.result",
    "sweep_scale.result",
    "spin_lcg.result",
    "spin.every-step",
    "part2.saves",
    "part2.hides",
    "part3.waits",
    "part4.takes-turns",
    "part2-two-streams.missing-edges",
    "timeline.sweeps-hidden",
    "part3-legacy-trap.missing-edges",
    "timeline.sweeps-after-spin",
    "part4-two-full-grids.missing-edges",
    "timeline.no-room",
];
const TIMES: [&str; 8] = [
    "spin-solo",
    "spin-doubled",
    "sweep-solo",
    "scale-solo",
    "part1-legacy",
    "part2-two-streams",
    "part3-legacy-trap",
    "part4-two-full-grids",
];

#[test]
fn every_check_passes_where_the_sweeps_are_long_enough_to_be_judged() {
    let document = lesson("streams --device virtual:t4 --elems 1500000 --order deny").unwrap();
    let want: Vec<_> = CHECKS.iter().map(|id| ((*id).to_owned(), "pass".to_owned())).collect();
    assert_eq!(verdicts(&document), want);
    let times = document["times"].as_array().unwrap();
    assert_eq!(times.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), TIMES);
    assert_eq!(document["runs"].as_array().unwrap().len(), 3);
    // Two waves of what is resident: 4 blocks of 256 on each of 40 SMs.
    let plan = &document["values"]["plan"];
    assert_eq!([&plan["elems"], &plan["full_blocks"], &plan["small_blocks"]], [1_500_000, 320, 8]);
    // The spin was made to last twice as long as the sweeps.
    let ms = |time: usize| times[time]["median_ms"].as_f64().unwrap();
    assert!((1.9..2.1).contains(&(ms(0) / ms(2))), "{} and {}", ms(0), ms(2));
}

#[test]
fn short_sweeps_and_the_late_schedule_fail_nothing() {
    for schedule in ["earliest", "late"] {
        let typed =
            format!("streams --device virtual:h200 --elems 1000000 --spin-steps 50000 --schedule {schedule}");
        let document = lesson(&format!("{typed} --order deny")).unwrap();
        assert_eq!(failed(&document), [""; 0], "{schedule}");
        let judged = ["part2.saves", "part2.hides", "part3.waits", "part4.takes-turns", "timeline.no-room"];
        assert_eq!(judged.map(|id| verdict(&document, id)), ["not_judged"; 5], "{schedule}");
        let hidden = if schedule == "late" { "not_judged" } else { "pass" };
        assert_eq!(verdict(&document, "timeline.sweeps-hidden"), hidden);
        assert_eq!(verdict(&document, "timeline.sweeps-after-spin"), "pass");
        assert_eq!(document["values"]["spin_steps"], 50_000);
    }
}

/// What a part submits: kernel and stream of each launch.
fn order(part: impl FnOnce(&Program<'_>) -> Result<(), Error>) -> Vec<(String, String)> {
    on_device(Device::Virtual(Model::H200), |context| {
        let p = Program::new(context, 1, &[1.0; 100]).unwrap();
        let log = streamlab::check(context, || part(&p)).unwrap();
        context.synchronize().unwrap();
        assert!(log.missing_edges().is_empty());
        let kinds: Vec<_> = log.program.streams.iter().map(|stream| stream.kind).collect();
        let made = [StreamKind::NonBlocking, StreamKind::NonBlocking, StreamKind::Blocking];
        assert_eq!(kinds[kinds.len() - 3..], made);
        let operations = log.program.operations.iter();
        operations
            .map(|one| {
                let stream = log.stream_name(one.action.stream().unwrap());
                (one.name.to_string(), stream.to_owned())
            })
            .collect()
    })
}

#[test]
fn each_part_submits_the_same_launches_to_other_streams_and_no_event() {
    let on = |times, kernel: &str, stream: &str| vec![(kernel.to_owned(), stream.to_owned()); times];
    let four = |kernel, stream| on(4, kernel, stream);
    let spin = |stream| on(1, "spin_lcg", stream);
    let legacy = "legacy default stream";
    assert_eq!(order(|p| p.one_stream(7)), [spin(legacy), four("sweep_add", legacy)].concat());
    assert_eq!(order(|p| p.two_streams(7)), [spin("A"), four("sweep_add", "B")].concat());
    assert_eq!(order(|p| p.legacy_trap(7)), [spin("C"), four("sweep_add", legacy)].concat());
    assert_eq!(order(|p| p.two_full_grids()), [four("sweep_add", "A"), four("sweep_scale", "B")].concat());
}

#[test]
fn a_wrong_result_of_any_kernel_is_found() {
    on_device(Device::Virtual(Model::H200), |context| {
        let p = Program::new(context, 3, &[1.0; 100]).unwrap();
        p.each_once(99).unwrap();
        let verdicts = |input: &[f32]| p.right_results(input).unwrap().map(|check| check.verdict);
        assert_eq!(verdicts(&[1.0; 99]), [Pass; 3]);
        assert_eq!(verdicts(&[[1.0; 98].as_slice(), &[1.5]].concat()), [Fail, Fail, Pass]);
        p.spin(4095).unwrap();
        assert_eq!(verdicts(&[1.0; 99]), [Pass, Pass, Fail]);
    });
}

#[test]
fn sizes_come_from_the_device() {
    on_device(Device::Virtual(Model::T4), |context| {
        let device = |l2_bytes| DeviceProperties { l2_bytes, ..context.device().clone() };
        assert_eq!([large_elems(&device(60 << 20)), large_elems(&device(4 << 20))], [60 << 20, 1 << 24]);
    });
}

#[test]
fn full_grids_take_the_places_that_the_instrumented_kernels_leave() {
    on_device(Device::Virtual(Model::H200), |context| {
        let resident = context.resident_blocks(sweep_add::KERNEL, THREADS).unwrap();
        let places = context.traced_resident_blocks(sweep_add::KERNEL, THREADS).unwrap();
        assert_eq!([resident, places], [8 * 132, 6 * 132]);
        let p = Program::new(context, 2 * resident, &vec![1.0; 12 << 20]).unwrap();
        let run = Trace::of(context, 0, || p.two_full_grids()).unwrap().band("part 4", 132, false);
        expect(&no_room(&intervals(&run), &block_intervals(&run), places), Pass);
        expect(&no_room(&intervals(&run), &block_intervals(&run), resident), Fail);
    });
}

#[track_caller]
fn expect(check: &Check, verdict: Verdict) {
    assert_eq!(check.verdict, verdict, "{check}");
}

#[test]
fn each_ratio_passes_at_its_limits_and_fails_beyond_them() {
    let bounds = [
        (EVERY_STEP, 1.8, 2.2),
        (SAVES, 1.2, 1e9),
        (HIDES, 0.0, 1.1),
        (WAITS, 0.95, 1.05),
        (TAKES_TURNS, 0.9, 1e9),
    ];
    for (range, least, most) in bounds {
        let at = |value: f64| ratio("r", ("a", value), ("b", 1.0), range.clone());
        expect(&at(least), Pass);
        expect(&at(most), Pass);
        expect(&at(f64::NAN), Fail);
        if least > 0.0 {
            expect(&at(least - 1e-9), Fail);
        }
        if most < 1e9 {
            expect(&at(most + 1e-9), Fail);
        }
    }
    expect(&ratio("r", ("a", 1.0), ("b", f64::NAN), WAITS), Fail);
}

#[test]
fn ratios_are_not_judged_on_few_sms_or_with_short_sweeps() {
    let reasons = |sms, sweeps_ms| reasons_against_ratios(sms, sweeps_ms).len();
    let shortest = 4.0 * MIN_SWEEP_MS;
    assert_eq!(
        [reasons(24, shortest), reasons(23, shortest), reasons(24, 0.199), reasons(23, 0.199)],
        [0, 1, 1, 2]
    );
    assert_eq!(reasons(132, f64::NAN), 0);
    let check = ratio("r", ("a", 1.0), ("b", 2.0), SAVES).unless(&reasons_against_ratios(8, 1.0));
    expect(&check, NotJudged);
    assert_eq!([too_short(shortest).is_some(), too_short(0.199).is_some()], [false, true]);
}

#[test]
fn sweeps_wait_or_hide_or_leave_no_room_by_when_they_ran() {
    let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
    let (spin, beside, later) = (ran(0, 1000), ran(100, 900), ran(1010, 1400));
    expect(&hidden_sweeps(&[spin, beside, beside]), Pass);
    expect(&hidden_sweeps(&[spin, beside, later]), Fail);
    expect(&sweeps_after_spin(&[spin, later, later], 32), Pass);
    expect(&sweeps_after_spin(&[spin, later, beside], 32), Fail);

    // 19 of 20 places are taken all the time, and then a nanosecond less.
    let (grids, mut blocks) = ([ran(0, 600), ran(500, 1000)], vec![ran(0, 1000); 19]);
    expect(&no_room(&grids, &blocks, 20), Pass);
    expect(&no_room(&grids, &blocks, 21), Fail);
    blocks[18].end_ns -= 1;
    expect(&no_room(&grids, &blocks, 20), Fail);
    for check in [hidden_sweeps(&[]), sweeps_after_spin(&[], 32), no_room(&[], &[], 2)] {
        expect(&check, NotJudged);
    }
}

fn sweeps_with_every_remainder(device: Device) {
    on_device(device, |context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let input: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        let from = DeviceBuffer::from_slice(context, "from", &input).unwrap();
        let to = DeviceBuffer::new(context, "to", 5000).unwrap();
        for elems in (1..40).chain([1023, 1024, 4097, 4999, 5000]) {
            let (some, rest) = (from.slice(..elems), to.slice(..elems));
            stream.memset_zeros(&to).unwrap();
            stream.launch(LaunchConfig::new(3, 64), sweep_scale(&some, &rest)).unwrap();
            stream.synchronize().unwrap();
            let want = |i: usize| if i < elems { 2.0 * i as f32 } else { 0.0 };
            let got = to.to_vec().unwrap();
            assert!(got.iter().enumerate().all(|(i, &got)| got == want(i)), "{elems} elements");
        }
    });
}

#[test]
fn sweeps_are_right_for_every_remainder_and_reach_no_element_of_another() {
    sweeps_with_every_remainder(Device::Virtual(Model::H200));
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_sweeps_are_right_for_every_remainder_and_reach_no_element_of_another() {
    sweeps_with_every_remainder(Device::Gpu(0));
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_check_of_the_streams_lesson_passes() {
    let document = lesson("streams --device gpu --runs 5 --warmups 2 --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
}
