//! The checks of an exercise, from numbers. Pure.

use std::cmp::Ordering;

use host::check::{Check, cut, us};
use host::lessons::forkjoin::MIN_SMS;
use host::overlap::Interval;

/// The least serial / yours that says that the streams overlap: the fork-join lesson's.
pub const MIN_RATIO: f64 = host::lessons::forkjoin::MIN_RATIO;

/// Checks that everything was submitted, and once; `undone` says what was not.
pub fn writes(name: &str, undone: &[String]) -> Check {
    let id = format!("{name}.writes");
    match undone {
        [] => Check::pass(id, "everything is submitted, and once"),
        undone => Check::fail(id, undone.join("; ")),
    }
}

/// Checks that the host waits nowhere in the submission; `waits` are the lines on which it does.
pub fn host_waits(name: &str, waits: &[String]) -> Check {
    let id = format!("{name}.host-waits");
    match waits {
        [] => Check::pass(id, "the host does not wait"),
        [first, ..] => {
            let repair =
                "record an event and let the stream wait for it instead, so that the host goes on submitting";
            Check::fail(id, format!("the host waits at {first}: {repair}"))
        }
    }
}

/// A critical path, and what was predicted of it.
#[derive(Clone, Copy, Debug)]
pub struct Depth<'a> {
    /// What counts as one: one of them, and several.
    pub unit: [&'a str; 2],
    /// Units that were predicted.
    pub predicted: u64,
    /// Units that there are.
    pub found: u64,
    /// The operations of the path, in words.
    pub chain: &'a str,
    /// The line that makes an edge which is not needed, in words.
    pub needless: Option<&'a str>,
}

/// Checks that the critical path is as long as predicted.
pub fn depth(name: &str, depth: &Depth<'_>) -> Check {
    let Depth { unit: [one, many], predicted, found, chain, needless } = *depth;
    let unit = if found == 1 { one } else { many };
    let path = format!("critical path: {found} {unit} ({chain})");
    let id = format!("{name}.depth");
    match found.cmp(&predicted) {
        Ordering::Equal => Check::pass(id, format!("{path}, as predicted")),
        Ordering::Greater => {
            let line = needless.map(|line| format!(": {line}")).unwrap_or_default();
            let is = if predicted == 1 { "is" } else { "are" };
            Check::fail(
                id,
                format!("{path}; {predicted} {is} possible. At least one dependency is unnecessary{line}"),
            )
        }
        Ordering::Less => {
            let sentence =
                format!("{path}; {predicted} are expected with the streams that the task asks for");
            Check::fail(id, sentence)
        }
    }
}

/// Checks that nothing is missing that early launch needs; `missing` names what is.
pub fn early_launch(missing: &[String]) -> Check {
    let id = "pdl.early-launch";
    let needs = "early launch needs a trigger in the primary kernel, a griddepcontrol.wait in the secondary kernel, and the \
                 programmatic attribute on the launch of the secondary";
    match missing {
        [] => Check::pass(id, format!("{needs}: all three are there")),
        missing => Check::fail(id, format!("{needs}. Missing here: {}", missing.join(" and "))),
    }
}

/// Checks that a kernel that may start early did.
pub fn starts_early(secondary: Interval, primary: Interval) -> Check {
    let id = "pdl.starts-early";
    if secondary.start_ns < primary.end_ns {
        let early = us(primary.end_ns - secondary.start_ns);
        Check::pass(id, format!("the secondary kernel started {early} us before the primary ended"))
    } else {
        let late = us(secondary.start_ns - primary.end_ns);
        Check::fail(id, format!("the secondary kernel started {late} us after the primary ended"))
    }
}

/// Checks that what nothing orders overlaps: serial / yours is at least [`MIN_RATIO`], where the two depths are those of the serial
/// order and of a right answer. Depths that leave no room for the ratio decide nothing.
pub fn ratio(name: &str, ratio: f64, [serial, yours]: [u64; 2], sms: u32) -> Check {
    let bound = serial as f64 / yours as f64;
    let sentence = format!(
        "serial / yours = {}x, at least {MIN_RATIO}x expected (bound {serial} / {yours} = {bound:.2}x)",
        cut(ratio)
    );
    let mut reasons = Vec::new();
    if bound < MIN_RATIO {
        reasons.push("the bound is lower than that".to_owned());
    } else if sms < MIN_SMS {
        reasons.push(format!("the device has {sms} SMs, fewer than {MIN_SMS}"));
    }
    Check::that(ratio >= MIN_RATIO, format!("{name}.ratio"), sentence).unless(&reasons)
}
