//! The bench on virtual devices: every kernel is there, and its numbers follow from its time and its work.

mod support;

use host::check::Check;
use host::lessons::{bench, forkjoin, standard, streams};
use serde_json::Value;
use streamlab::{Device, Model};
use support::{failed, in_lab, verdicts};

#[test]
fn every_kernel_is_compared_with_its_limit() {
    let document = in_lab(Device::Virtual(Model::H200), |lab| bench::kernels_alone(lab, 1 << 14, 1 << 18));
    let (limits, rows) = (&document["values"]["limits"], document["values"]["kernels"].as_array().unwrap());
    let names: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    let others = ["sweep_add", "sweep_scale", "produce_stage", "combine_stage"];
    assert_eq!(names, [["grind_fma", "sum_four", "spin_lcg"].as_slice(), &others].concat());
    // 132 SMs of 128 lanes at 1.98 GHz.
    assert_eq!(limits["fma_per_s"], 132.0 * 128.0 * 1.98e9);
    let number = |value: &Value| value.as_f64().unwrap();
    let elems = f64::from(1 << 14);
    for (row, work, limit) in [(0, 512.0 * elems, "fma_per_s"), (1, 20.0 * elems, "bytes_per_s")] {
        let per_s = number(&rows[row]["per_s"]);
        let want = work / (1e-3 * number(&rows[row]["times"]["median_ms"]));
        assert!((per_s / want - 1.0).abs() < 1e-9, "{per_s} and {want}");
        assert!((number(&rows[row]["of_limit"]) - per_s / number(&limits[limit])).abs() < 1e-9);
    }
    assert!(rows.iter().all(|row| (0.0..=1.0).contains(&number(&row["of_limit"]))), "{rows:?}");
}

#[test]
fn the_lessons_are_in_the_document_and_a_device_without_dependent_launch_has_the_rest() {
    let forkjoin = forkjoin::Args { elems: 1 << 16, ..standard() };
    let streams = streams::Args { elems: Some(1_500_000), ..standard() };
    let document =
        in_lab(Device::Virtual(Model::T4), |lab| bench::lessons(lab, &forkjoin, &streams, &standard()));
    let values = &document["values"];
    assert_eq!([&values["forkjoin"]["lesson"], &values["streams"]["lesson"]], ["forkjoin", "streams"]);
    assert_eq!(values["pdl"], Value::Null);
    let passed = |id: &str| (id.to_owned(), "pass".to_owned());
    assert_eq!(verdicts(&document), [passed("forkjoin.passed"), passed("streams.passed")]);
}

#[test]
fn the_bench_fails_when_a_lesson_does() {
    let document = in_lab(Device::Virtual(Model::T4), |lab| {
        let other = lab.other("other", |lab| lab.require(Check::fail("some.check", "it does not hold")))?;
        assert!(!lab.embed(&other));
        Ok(())
    });
    assert_eq!(failed(&document), ["other.passed"]);
    assert_eq!(failed(&document["values"]["other"]), ["some.check"]);
}
