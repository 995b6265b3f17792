//! Copies and fills. Each direction over the bus has an engine that does one copy after the other; within the device a
//! transfer shares the memory system with everyone. Bytes move in parts, so that a transfer that races something shows
//! part of each.

use super::time::{NS, Picos, of_bytes};
use super::work::{Route, Transfer};
use super::{Clock, Event, OpId};
use crate::memory::Memory;
use std::collections::{BTreeMap, VecDeque};

/// Bytes of a part over the bus.
const BUS_PART: u64 = 64 << 10;
/// Bytes of a part within the device.
const PART: u64 = 128 << 10;
/// Parts of one transfer within the device that are under way at once: enough to use the memory's whole rate.
const PARTS_UNDER_WAY: usize = 32;

/// Who moves bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// The engine for copies to the device.
    ToDevice,
    /// The engine for copies to the host.
    ToHost,
    /// A transfer within the device, which is an engine of its own.
    Within(OpId),
}

/// The transfers that run or wait for their engine.
#[derive(Default)]
pub struct Engines(BTreeMap<Engine, VecDeque<Running>>);

struct Running {
    op: OpId,
    transfer: Transfer,
    moved: u64,
    /// When the parts that are under way within the device are through.
    under_way: VecDeque<Picos>,
}

impl Clock {
    pub(super) fn start_transfer(&mut self, op: OpId, transfer: Transfer) {
        let engine = match transfer.route {
            Route::ToDevice(_) => Engine::ToDevice,
            Route::ToHost(_) => Engine::ToHost,
            Route::Within { .. } => Engine::Within(op),
        };
        let line = self.engines.0.entry(engine).or_default();
        line.push_back(Running { op, transfer, moved: 0, under_way: VecDeque::new() });
        if line.len() == 1 {
            self.start_engine(engine);
        }
    }

    fn start_engine(&mut self, engine: Engine) {
        let before = match engine {
            Engine::ToDevice | Engine::ToHost => self.card.bus.copy_ns,
            Engine::Within(_) => self.card.front.kernel_start_ns,
        };
        let first_part = self.engines.0.get(&engine).and_then(VecDeque::front).map_or(0, bus_part_time);
        self.queue.push(self.now + before * NS + first_part, Event::Moved(engine));
    }

    /// Moves the part whose time is over, and starts the next.
    pub(super) fn moved(&mut self, engine: Engine, memory: &mut Memory) {
        let Some(running) = self.engines.0.get_mut(&engine).and_then(VecDeque::front_mut) else { return };
        let size = if let Engine::Within(_) = engine { PART } else { BUS_PART };
        let part = running.moved..running.transfer.bytes.min(running.moved + size);
        (running.transfer.part)(memory, part.clone());
        running.moved = part.end;
        let over = running.moved == running.transfer.bytes;
        let next = match running.transfer.route {
            Route::ToDevice(_) | Route::ToHost(_) => self.now + bus_part_time(running),
            Route::Within { from, to } => {
                let bytes = part.end - part.start;
                let mut through = self.now;
                let sides = from.map(|from| (from, false)).into_iter().chain([(to, true)]);
                for (address, write) in sides {
                    let start = address + part.start;
                    through = through.max(self.traffic.pass(self.now, start, start + bytes, bytes, write));
                }
                running.under_way.push_back(through);
                if over {
                    running.under_way.iter().copied().fold(through, Picos::max)
                        + self.card.front.kernel_end_ns * NS
                } else if running.under_way.len() < PARTS_UNDER_WAY {
                    self.now
                } else {
                    running.under_way.pop_front().unwrap_or(through).max(self.now)
                }
            }
        };
        if !over {
            self.queue.push(next, Event::Moved(engine));
            return;
        }
        let op = running.op;
        self.queue.push(next.max(self.now), Event::Complete(op));
        self.next_transfer(engine);
    }

    fn next_transfer(&mut self, engine: Engine) {
        let Some(line) = self.engines.0.get_mut(&engine) else { return };
        line.pop_front();
        if line.is_empty() {
            self.engines.0.remove(&engine);
        } else {
            self.start_engine(engine);
        }
    }
}

/// What the bus takes for the next part of a copy.
fn bus_part_time(running: &Running) -> Picos {
    let bytes = (running.transfer.bytes - running.moved).min(BUS_PART);
    match running.transfer.route {
        Route::ToDevice(gb_per_s) | Route::ToHost(gb_per_s) => of_bytes(bytes, gb_per_s),
        Route::Within { .. } => 0,
    }
}
