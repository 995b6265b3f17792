//! The host's clock, for lessons about what the host's own calls take: the one place that reads it. The host of a virtual
//! card has a virtual clock, on which a call takes what the device's model says and everything else takes nothing.

use std::time::Instant;

use crate::floor::virtual_host_ns;

/// A timer on the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct HostClock(Start);

#[derive(Clone, Copy, Debug)]
enum Start {
    Real(Instant),
    Virtual(u64),
}

impl HostClock {
    /// Starts it.
    pub fn start() -> Self {
        HostClock(match virtual_host_ns() {
            Some(ns) => Start::Virtual(ns),
            None => Start::Real(Instant::now()),
        })
    }

    /// Milliseconds since the start.
    pub fn elapsed_ms(mut self) -> f64 {
        self.lap_ns() as f64 / 1e6
    }

    /// Nanoseconds since the start, or since the lap before this one.
    pub fn lap_ns(&mut self) -> u64 {
        let HostClock(before) = std::mem::replace(self, HostClock::start());
        match (before, self.0) {
            (Start::Real(before), Start::Real(now)) => (now - before).as_nanos() as u64,
            (Start::Virtual(before), Start::Virtual(now)) => now.saturating_sub(before),
            // The driver was chosen in between, and with it the clock.
            _ => 0,
        }
    }
}
