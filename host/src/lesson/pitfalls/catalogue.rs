//! The list of the pitfalls, in the order of the lesson.

use super::programs;
use crate::gate::pitfalls::Shows;
use crate::lesson::rig::{Program, Rig};

/// A program with a flaw, and the same program repaired.
pub struct Pitfall {
    /// What it is asked for by.
    pub name: &'static str,
    /// What goes wrong, in a sentence without its full stop.
    pub what: &'static str,
    /// With the flaw.
    pub flawed: Program,
    /// Without it.
    pub repaired: Program,
    /// Edges that are missing in the flawed program.
    pub missing: usize,
    /// What the timeline shows of the flawed program, and of the repaired one.
    pub shows: [Shows; 2],
    /// What the two come to.
    pub comes_to: ComesTo,
}

/// What the outcomes of the two programs are.
pub enum ComesTo {
    /// What the last kernel computed; the repaired program comes to this.
    Value(fn(&Rig<'_>) -> f32),
    /// How much of a kernel's time a stopwatch holds.
    PartOfTheTime,
    /// What counts is for how long the card stands idle.
    Idle,
    /// The flawed program is refused with this code; the repaired one is told a time.
    Refused(u32),
}

const ORDERED: [Shows; 2] = [Shows::Early, Shows::Behind];
/// Twice what the slow kernel writes.
const OF_THE_SLOW_KERNEL: ComesTo = ComesTo::Value(|rig| 2.0 * rig.slow_value());
const INVALID_HANDLE: u32 = 400;

/// All of them.
pub const PITFALLS: &[Pitfall] = &[
    Pitfall {
        name: "record-after-wait",
        what: "the wait is submitted before the record, finds an event that stands for nothing, and holds nothing back",
        flawed: programs::waited_too_early,
        repaired: programs::recorded_then_waited,
        missing: 1,
        shows: ORDERED,
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "never-recorded",
        what: "nobody records the event, and an event that was never recorded is complete",
        flawed: programs::never_recorded,
        repaired: programs::recorded_then_waited,
        missing: 1,
        shows: ORDERED,
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "event-reused",
        what: "one event serves two iterations that are both under way, and the second wait finds the first record",
        flawed: programs::one_event_for_two_iterations,
        repaired: programs::one_event_in_turn,
        missing: 1,
        shows: ORDERED,
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "untimed-event",
        what: "a time is asked of an event that was made for ordering and has none",
        flawed: programs::timed_by_an_ordering_event,
        repaired: programs::timed_by_timing_events,
        missing: 0,
        shows: [Shows::Nothing("there is one kernel, and nothing to compare it with"); 2],
        comes_to: ComesTo::Refused(INVALID_HANDLE),
    },
    Pitfall {
        name: "stopwatch-elsewhere",
        what: "the stop is recorded on the default stream, which does not follow a non-blocking one: the time is too good",
        flawed: programs::stop_elsewhere,
        repaired: programs::stop_on_the_same_stream,
        missing: 1,
        shows: [Shows::Nothing("the kernel ran as it should; the stopwatch is what is wrong"); 2],
        comes_to: ComesTo::PartOfTheTime,
    },
    Pitfall {
        name: "host-parked",
        what: "the host stands still to order two kernels: right, and the card is idle until the next launch has come",
        flawed: programs::host_parked,
        repaired: programs::recorded_then_waited,
        missing: 0,
        shows: [Shows::Behind; 2],
        comes_to: ComesTo::Idle,
    },
    Pitfall {
        name: "default-stream-between",
        what: "one launch on the legacy default stream stands between two blocking streams: nothing overlaps any more",
        flawed: programs::default_stream_between,
        repaired: programs::own_stream_between,
        missing: 0,
        shows: [Shows::InTurn, Shows::Abreast],
        comes_to: ComesTo::Value(|_| 2.0),
    },
    Pitfall {
        name: "pageable-copy",
        what: "the asynchronous call copies pageable memory, and holds the host until the driver has carried it",
        flawed: programs::beside_a_pageable_copy,
        repaired: programs::beside_a_page_locked_copy,
        missing: 0,
        shows: [Shows::Held, Shows::Beside],
        comes_to: ComesTo::Value(|rig| rig.slow_value()),
    },
    Pitfall {
        name: "staging-refilled",
        what: "the host refills a page-locked buffer while the copy from it is still to come",
        flawed: programs::staging_refilled,
        repaired: programs::two_staging_buffers,
        missing: 1,
        shows: [Shows::Nothing("kernels and copies are on it, and what the host does is not"); 2],
        // Twice what the host wrote first.
        comes_to: ComesTo::Value(|_| 2.0),
    },
];
