//! The kernels that look at the card's own clock.

use cuda_std::{kernel, sense, thread};

/// Readings of a clock that stands still before it is given up.
const MOST_READINGS: u32 = 1 << 20;

/// Readings of the card's clock (`%globaltimer`), each the first that differs from the one before it. One thread.
#[kernel]
pub fn read_clock(out: &mut [u64]) {
    if thread::index_1d() > 0 {
        return;
    }
    let mut last = sense::global_timer();
    for reading in out {
        for _ in 0..MOST_READINGS {
            *reading = sense::global_timer();
            if *reading != last {
                break;
            }
        }
        last = *reading;
    }
}

/// One reading of the card's clock (`%globaltimer`), into the first element. One thread.
#[kernel]
pub fn stamp(out: &mut [u64]) {
    if let (0, Some(reading)) = (thread::index_1d(), out.first_mut()) {
        *reading = sense::global_timer();
    }
}
