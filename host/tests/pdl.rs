//! The lesson on programmatic dependent launch on virtual devices: what differs between its orders, and each check failing.

mod support;

use clap::ValueEnum as _;
use host::check::Verdict::{Fail, NotJudged, Pass};
use host::check::correct;
use host::compare::compare;
use host::lessons::pdl::{
    Program, TOLERANCE, Trigger, bit_identical, floor_ms, gaps, inputs, may_start_early, starts_after,
};
use host::overlap::Interval;
use streamlab::{Device, Error, Model};
use support::{failed, lesson, on_device, verdict, verdicts};

const CHECKS: [(&str, &str); 6] = [
    ("baseline.missing-edges", "pass"),
    ("baseline.result", "pass"),
    ("pdl.missing-edges", "pass"),
    ("pdl.result", "pass"),
    ("baseline.secondary-start", "pass"),
    ("pdl.secondary-start", "not_judged"),
];

#[test]
fn every_check_passes_wherever_the_trigger_stands_and_on_either_schedule() {
    for trigger in ["early", "mid", "late", "never"] {
        for schedule in ["earliest", "late"] {
            let typed = format!("--elems 1000 --pairs 3 --trigger {trigger} --schedule {schedule}");
            let document = lesson(&format!("pdl --device virtual:h200 --order deny {typed}")).unwrap();
            let want = CHECKS.map(|(id, verdict)| (id.to_owned(), verdict.to_owned()));
            assert_eq!(verdicts(&document), want, "{typed}");
            assert_eq!(document["runs"].as_array().unwrap().len(), 2, "{typed}");
            let [cell] = &document["values"]["cells"].as_array().unwrap()[..] else { panic!("{document}") };
            assert_eq!((&cell["trigger"], &cell["blocks"]), (&trigger.into(), &4.into()));
        }
    }
}

#[test]
fn an_early_start_saves_time_where_one_wave_fills_the_device() {
    let document = lesson("pdl --device virtual:h200 --order deny --elems 270336 --pairs 2").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    let cell = &document["values"]["cells"][0];
    let number = |name: &str| cell[name].as_f64().unwrap();
    assert!(
        number("pdl_over_baseline") < 0.97 && number("floor_ms") < cell["pdl"]["min_ms"].as_f64().unwrap()
    );
    assert!(number("baseline_gap_us") > 0.0 && number("pdl_gap_us") < 0.0, "{cell}");
}

#[test]
fn the_sweep_has_a_cell_for_every_trigger_on_three_grids_and_says_the_range_of_its_ratios() {
    let document = lesson("pdl --device virtual:h200 --order deny --sweep --elems 1000 --pairs 1").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    let cells = document["values"]["cells"].as_array().unwrap();
    let found: Vec<_> = cells
        .iter()
        .map(|cell| (cell["trigger"].as_str().unwrap(), cell["blocks"].as_u64().unwrap()))
        .collect();
    // One block on each of 132 SMs, the eight that each holds, and the grid of the elements that were asked for.
    let grids = [132, 8 * 132, 4];
    let want: Vec<_> = grids
        .iter()
        .flat_map(|blocks| ["early", "mid", "late", "never"].map(|place| (place, *blocks)))
        .collect();
    assert_eq!(found, want);
    assert_eq!(verdicts(&document).len(), CHECKS.len() * want.len());
    assert_eq!(verdict(&document, "pdl one-wave never.result"), "pass");
    assert_eq!(document["runs"].as_array().unwrap().len(), 2 * 4);
    let ratio = |cell: &serde_json::Value| cell["pdl_over_baseline"].as_f64().unwrap();
    let range = [f64::min, f64::max].map(|pick| cells.iter().map(ratio).reduce(pick).unwrap());
    assert_eq!(document["values"]["pdl_over_baseline"], serde_json::json!(range));
}

#[test]
fn the_orders_differ_in_one_value_of_one_attribute() {
    let source = include_str!("../src/lessons/pdl.rs");
    let body = |name: &str| {
        let start = source.find(&format!("pub fn {name}(&self, pairs: u32)")).unwrap();
        source[start..].lines().skip(1).take_while(|line| *line != "    }").collect::<Vec<_>>()
    };
    let (baseline, pdl) = (body("baseline"), body("pdl"));
    assert_eq!(baseline.len(), pdl.len());
    let differ: Vec<_> = baseline.iter().zip(pdl).filter(|(baseline, pdl)| *baseline != pdl).collect();
    let [(baseline, pdl)] = differ[..] else { panic!("{differ:?}") };
    assert_eq!(baseline.replace("Some(false)", "Some(true)"), pdl);
}

#[test]
fn every_place_of_the_trigger_has_a_kernel_of_its_own() {
    on_device(Device::Virtual(Model::H200), |context| {
        let (x, y) = inputs(100);
        for (trigger, primary) in Trigger::value_variants().iter().zip(["_early", "", "_late", "_never"]) {
            let p = Program::new(context, *trigger, &x, &y).unwrap();
            let names = |submit: &dyn Fn() -> Result<(), Error>| {
                let program = streamlab::check(context, submit).unwrap().program;
                program.operations.iter().map(|one| one.name.to_string()).collect::<Vec<_>>()
            };
            let pair = [format!("produce_stage{primary}"), "combine_stage".to_owned()];
            let want = [pair.clone(), pair].concat();
            assert_eq!(names(&|| p.baseline(2)), want);
            assert_eq!(names(&|| p.pdl(2)), want);
        }
    });
}

#[test]
fn a_device_before_9_0_is_refused() {
    let error = lesson("pdl --device virtual:t4").unwrap_err();
    assert!(error.is_bad_input());
    assert!(matches!(error, Error::Unsupported { needs: (9, 0), capability: (7, 5), .. }), "{error}");
}

#[test]
fn a_wrong_baseline_and_a_changed_bit_fail() {
    let baseline =
        |got: f32| correct("baseline.result", "baseline", &compare(&[got], &[1.0], TOLERANCE)).verdict;
    assert_eq!([baseline(1.0 + 0.9e-5), baseline(1.0 + 1.1e-5)], [Pass, Fail]);
    let early = |got: &[f32], want: &[f32]| bit_identical("pdl", &compare(got, want, 0.0)).verdict;
    assert_eq!(early(&[1.0, f32::NAN], &[1.0, f32::NAN]), Pass);
    assert_eq!(early(&[1.0, -0.0], &[1.0, 0.0]), Fail);
    assert_eq!(early(&[1.0, 3.0], &[1.0, 2.0]), Fail);
    assert_eq!(early(&[], &[]), Fail);
}

#[test]
fn no_secondary_of_the_baseline_may_start_before_the_end_of_its_primary() {
    // The second pair's secondary starts at the primary's end, then 32 and 33 ns before it.
    let gaps_at = |start_ns: u64| {
        gaps(
            &[(0, 500), (700, 900), (1000, 1500), (start_ns, 1900)]
                .map(|(start_ns, end_ns)| Interval { start_ns, end_ns }),
        )
    };
    for (start_ns, verdict) in [(1500, Pass), (1468, Pass), (1467, Fail)] {
        assert_eq!(starts_after("baseline", gaps_at(start_ns), 32).verdict, verdict, "{start_ns}");
        assert_eq!(may_start_early("pdl", gaps_at(start_ns)).verdict, NotJudged);
    }
    assert_eq!(starts_after("baseline", gaps(&[]), 32).verdict, Fail);
    assert!((1e6 * gaps_at(1400).median_ms - 50.0).abs() < 1e-6);
}

#[test]
fn the_floor_is_set_by_the_lanes_or_by_one_threads_chain() {
    // A clock of 1 MHz: a cycle is a microsecond. Three phases of 256 steps over the lanes, or two phases of 4 cycles a step.
    assert!((floor_ms(800, 100, 1000) - 3.0 * 256.0 * 8.0 / 1e3).abs() < 1e-9);
    assert!((floor_ms(100, 100, 1000) - 2.0 * 256.0 * 4.0 / 1e3).abs() < 1e-9);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_dependent_launch_changes_no_bit_on_any_grid_with_the_trigger_anywhere() {
    match lesson("pdl --device gpu --order deny --sweep --pairs 8 --runs 5 --warmups 2") {
        Ok(document) => assert_eq!(failed(&document), [""; 0]),
        Err(Error::Unsupported { capability, .. }) => assert!(capability < (9, 0)),
        Err(other) => panic!("{other}"),
    }
}
