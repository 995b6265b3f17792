//! The host's clock, for lessons about when a call returns. Of a virtual card it is the virtual host's, whose calls take what
//! the card's figures say: the same command reads the same times in every run.

use std::time::Instant;

use super::driver;

/// The host's clock from a moment on.
#[derive(Clone, Copy, Debug)]
pub struct HostClock(Start);

#[derive(Clone, Copy, Debug)]
enum Start {
    Host(Instant),
    Virtual(u64),
}

impl HostClock {
    /// Starts it.
    pub fn start() -> Self {
        HostClock(driver::virtual_host_ns().map_or_else(|| Start::Host(Instant::now()), Start::Virtual))
    }

    /// Milliseconds since.
    pub fn elapsed_ms(&self) -> f64 {
        match self.0 {
            Start::Host(start) => start.elapsed().as_secs_f64() * 1e3,
            Start::Virtual(start_ns) => {
                let now_ns = driver::virtual_host_ns().unwrap_or(start_ns);
                now_ns.saturating_sub(start_ns) as f64 / 1e6
            }
        }
    }
}
