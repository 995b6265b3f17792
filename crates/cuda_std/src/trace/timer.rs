//! The kernels that read the card's clock for a host: where it stands, and how far its steps are apart. A module has them
//! whatever its crate is, so their names begin as no kernel's of a crate should.

use crate::{kernel, sense, thread};

/// Readings of a clock that stands still before it is given up.
const MOST_READINGS: u32 = 1 << 20;

/// Reads the card's clock ([`global_timer`](crate::sense::global_timer)) into each element of `out`, each time until it
/// differs from the reading before. One thread.
#[kernel(untraced)]
pub fn streamlab_read_timer(out: &mut [u64]) {
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

/// Reads the card's clock ([`global_timer`](crate::sense::global_timer)) once, into the first element of `out`. One thread.
#[kernel(untraced)]
pub fn streamlab_timestamp(out: &mut [u64]) {
    if let (0, Some(reading)) = (thread::index_1d(), out.first_mut()) {
        *reading = sense::global_timer();
    }
}
