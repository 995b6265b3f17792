//! Each check of an exercise at its threshold, and beyond it.

use exercises::checks::{Depth, MIN_RATIO, depth, early_launch, host_waits, ratio, starts_early, writes};
use host::check::Verdict::{self, Fail, NotJudged, Pass};
use host::overlap::Interval;

#[test]
fn what_is_not_submitted_where_the_host_waits_and_what_is_missing_fails() {
    let some = ["f.rs:1".to_owned()];
    assert_eq!([writes("e", &[]).verdict, writes("e", &some).verdict], [Pass, Fail]);
    assert_eq!([host_waits("e", &[]).verdict, host_waits("e", &some).verdict], [Pass, Fail]);
    assert_eq!([early_launch(&[]).verdict, early_launch(&some).verdict], [Pass, Fail]);
}

#[test]
fn a_path_is_as_deep_as_predicted_or_the_answer_is_another() {
    let verdict = |found| {
        let unit = ["kernel", "kernels"];
        depth("e", &Depth { unit, predicted: 3, found, chain: "", needless: None }).verdict
    };
    assert_eq!([2, 3, 4].map(verdict), [Fail, Pass, Fail]);
}

#[test]
fn a_kernel_starts_early_before_the_other_has_ended() {
    let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
    assert_eq!(starts_early(ran(99, 200), ran(0, 100)).verdict, Pass);
    assert_eq!(starts_early(ran(100, 200), ran(0, 100)).verdict, Fail);
}

#[test]
fn a_ratio_is_judged_where_it_says_something() {
    let verdict = |at: f64, depths, sms| -> Verdict { ratio("e", at, depths, sms).verdict };
    assert_eq!(MIN_RATIO, 1.3);
    assert_eq!(verdict(1.3, [5, 3], 24), Pass);
    assert_eq!(verdict(1.299, [5, 3], 24), Fail);
    assert_eq!(verdict(f64::NAN, [5, 3], 24), Fail);
    assert_eq!(verdict(1.0, [5, 3], 23), NotJudged);
    assert_eq!(verdict(0.9, [3, 3], 132), NotJudged);
}
