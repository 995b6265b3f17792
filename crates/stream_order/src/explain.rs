//! Why two operations are not ordered, and which pairs have one cause. Cold: it runs when something was found.

use std::collections::VecDeque;
use std::mem::{Discriminant, discriminant};

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::check::{Clash, Race};
use crate::index::{Index, LEGACY, Lane};
use crate::program::{Action, Caller, EventId, Operation, Program, StreamKind};

/// How many waits are looked at to explain one pair. A bound on time; a cause is seldom more than a few waits away.
const MOST_WAITS: usize = 32;

/// The most likely reason for a missing edge. Operations are indices in the program; (1) and (2) are the first and the
/// second of [`Finding::race`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The event was recorded on the stream of (1), but before (1) was submitted.
    RecordedTooEarly {
        /// The record.
        record: usize,
        /// The wait of a stream or of the host.
        wait: usize,
    },
    /// The wait was submitted before the record that covers (1).
    WaitedBeforeRecorded {
        /// The wait of a stream or of the host.
        wait: usize,
        /// The record that came later.
        record: usize,
    },
    /// The event that was waited for is never recorded.
    NeverRecorded {
        /// The wait of a stream or of the host.
        wait: usize,
    },
    /// The event's record that covers (1) was replaced by another before the wait.
    Rerecorded {
        /// The record that covers (1).
        needed: usize,
        /// The one that the wait took.
        latest: usize,
        /// The wait of a stream or of the host.
        wait: usize,
    },
    /// The stop event was recorded on a stream that does not follow the work.
    StopElsewhere {
        /// The record of the start event.
        start: usize,
        /// The query of the time.
        elapsed: usize,
    },
    /// The host touches what the device may still be using: it waited for nothing that covers (1).
    HostDidNotWait,
    /// Two host threads, of which none let the other go on.
    HostThreads,
    /// One is on the default stream and the other on a non-blocking one, which does not wait for it.
    NonBlocking,
    /// (2) was launched with the attribute, and its kernel never waits.
    DependentNeverWaits,
    /// (2) was launched with the attribute, and touches the bytes before its wait.
    DependentTooEarly,
    /// (2) waits for the kernel before it, but one in between never waited for (1).
    ChainBroken {
        /// The kernel that never waits.
        middle: usize,
    },
    /// No event leads from one stream to the other.
    NoEvent,
}

/// A missing edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The first pair of operations that lacks it.
    pub race: Race,
    /// Further pairs with the same cause, as when a loop comes by again.
    pub more: Vec<Race>,
    /// The most likely reason.
    pub cause: Cause,
    /// The edge is missing from behind this operation: the last that it has to cover.
    pub after: usize,
    /// To before this one: the first that has to wait.
    pub before: usize,
}

/// What makes two pairs have one cause: its kind, the two lanes, and two places in the source.
type Key = (Discriminant<Cause>, (usize, usize), [Place; 2]);

/// A place in the source: a line and what is submitted there. An operation without a line is a place of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place(usize);

/// Gives each pair its cause, and joins the pairs that have one.
pub(crate) fn explain(program: &Program, races: Vec<Race>) -> Vec<Finding> {
    if races.is_empty() {
        return Vec::new();
    }
    let trail = Trail::of(program);
    let mut findings: Vec<Finding> = Vec::new();
    let mut by_pair: HashMap<_, usize> = HashMap::default();
    let mut by_key: HashMap<Key, usize> = HashMap::default();
    let mut by_lanes: HashMap<_, usize> = HashMap::default();
    for race in races {
        let lanes = trail.lanes(&race);
        // The same two lines on the same two lanes: a loop came by again.
        let pair = (lanes, [race.first, race.second].map(|operation| trail.place(operation)));
        if let Some(&at) = by_pair.get(&pair) {
            findings[at].take(race);
            continue;
        }
        let cause = trail.cause(&race);
        let kind = discriminant(&cause);
        let key = (kind, lanes, cause.places(&race).map(|operation| trail.place(operation)));
        // Where no event is to blame, one edge does for all that was submitted before the first that has to wait.
        let neighbour = by_lanes.get(&(kind, lanes)).filter(|&&at| {
            let finding: &Finding = &findings[at];
            cause.is_an_absence() && race.first < finding.latest().second
        });
        let at = match by_key.get(&key).or(neighbour).copied() {
            Some(at) => {
                findings[at].take(race);
                at
            }
            None => {
                let (after, before) = (race.first, race.second);
                findings.push(Finding { race, more: Vec::new(), cause, after, before });
                by_key.insert(key, findings.len() - 1);
                by_lanes.insert((kind, lanes), findings.len() - 1);
                findings.len() - 1
            }
        };
        by_pair.insert(pair, at);
    }
    findings
}

impl Finding {
    /// Takes a further pair with the same cause.
    fn take(&mut self, race: Race) {
        if race.first < self.before {
            self.after = self.after.max(race.first);
        }
        self.more.push(race);
    }

    fn latest(&self) -> &Race {
        self.more.last().unwrap_or(&self.race)
    }
}

impl Cause {
    /// The two operations that tell this cause from others of its kind.
    fn places(self, race: &Race) -> [usize; 2] {
        match self {
            Cause::RecordedTooEarly { record, wait } | Cause::WaitedBeforeRecorded { wait, record } => {
                [record, wait]
            }
            Cause::NeverRecorded { wait } => [wait; 2],
            Cause::Rerecorded { latest, wait, .. } => [latest, wait],
            Cause::StopElsewhere { start, .. } => [start, race.second],
            Cause::DependentNeverWaits | Cause::DependentTooEarly => [race.second; 2],
            Cause::ChainBroken { middle } => [middle; 2],
            Cause::HostDidNotWait | Cause::HostThreads | Cause::NonBlocking | Cause::NoEvent => {
                [race.first, race.second]
            }
        }
    }

    /// Whether nothing that is there is wrong, but something is not there.
    fn is_an_absence(self) -> bool {
        matches!(self, Cause::HostDidNotWait | Cause::HostThreads | Cause::NonBlocking | Cause::NoEvent)
    }
}

/// Where to look: the program's waits and records, by lane and event.
struct Trail<'p> {
    program: &'p Program,
    index: Index,
    /// For each lane, what made it wait, as indices.
    waits: Vec<Vec<usize>>,
    /// For each lane, its launches that may start early and never wait.
    never_wait: Vec<Vec<usize>>,
    records: HashMap<EventId, Vec<Record>>,
    /// Of each operation.
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Record {
    operation: usize,
    lane: usize,
}

/// A cause, and whether it accounts for just this pair.
type Likely = (Cause, bool);

impl<'p> Trail<'p> {
    fn of(program: &'p Program) -> Self {
        let index = Index::of(program);
        let mut waits = vec![Vec::new(); index.lanes.len()];
        let mut never_wait = waits.clone();
        let mut records: HashMap<EventId, Vec<Record>> = HashMap::default();
        for (operation, Operation { action, thread, .. }) in program.operations.iter().enumerate() {
            match action {
                Action::Record { event, stream } => {
                    let lane = index.stream(*stream, *thread);
                    records.entry(*event).or_default().push(Record { operation, lane });
                }
                Action::Wait { stream, .. } => waits[index.stream(*stream, *thread)].push(operation),
                Action::SynchronizeEvent { .. } | Action::SynchronizeStream { .. } => {
                    waits[index.thread(*thread)].push(operation);
                }
                Action::Launch(launch) if launch.programmatic && !launch.waits => {
                    never_wait[index.stream(launch.stream, *thread)].push(operation);
                }
                _ => {}
            }
        }
        Trail { program, index, waits, never_wait, records, places: places(program) }
    }

    fn place(&self, operation: usize) -> Place {
        self.places[operation]
    }

    /// Where the two operations run.
    fn lanes(&self, race: &Race) -> (usize, usize) {
        (self.lane(race.first), self.lane(race.second))
    }

    fn lane(&self, operation: usize) -> usize {
        let Operation { action, thread, .. } = &self.program.operations[operation];
        match action.stream() {
            Some(stream) => self.index.stream(stream, *thread),
            None => self.index.thread(*thread),
        }
    }

    fn cause(&self, race: &Race) -> Cause {
        let (from, to) = self.lanes(race);
        match race.clash {
            Clash::Time { start, elapsed } => return Cause::StopElsewhere { start, elapsed },
            Clash::Memory { before_wait, .. } if from == to && self.index.lanes[to] != Lane::Thread => {
                return self.dependent(race, to, before_wait);
            }
            Clash::Memory { .. } => {}
        }
        self.wait_that_failed(race, from, to).unwrap_or_else(|| self.absence(from, to))
    }

    fn dependent(&self, race: &Race, lane: usize, before_wait: bool) -> Cause {
        let never_wait = &self.never_wait[lane];
        let middle = never_wait.partition_point(|&at| at < race.second);
        if never_wait.get(middle) == Some(&race.second) {
            Cause::DependentNeverWaits
        } else if before_wait {
            Cause::DependentTooEarly
        } else {
            let middle = middle.checked_sub(1).map(|at| never_wait[at]);
            middle.map_or(Cause::DependentNeverWaits, |middle| Cause::ChainBroken { middle })
        }
    }

    fn absence(&self, from: usize, to: usize) -> Cause {
        use StreamKind::{Legacy, NonBlocking, PerThread};
        match (self.index.lanes[from], self.index.lanes[to]) {
            (Lane::Thread, _) => Cause::HostThreads,
            (_, Lane::Thread) => Cause::HostDidNotWait,
            (Lane::Stream(Legacy | PerThread), Lane::Stream(NonBlocking))
            | (Lane::Stream(NonBlocking), Lane::Stream(Legacy | PerThread)) => Cause::NonBlocking,
            _ => Cause::NoEvent,
        }
    }

    /// Goes back from the second operation along what it waited for, the nearest first, to a wait that would have covered
    /// the first had the event been recorded elsewhere.
    fn wait_that_failed(&self, race: &Race, from: usize, to: usize) -> Option<Cause> {
        let mut ways = VecDeque::from([(to, race.second), (self.submitter(race.second), race.second)]);
        let mut seen = HashSet::default();
        let mut likely: Option<Cause> = None;
        while let Some((lane, before)) = ways.pop_front() {
            let waits = &self.waits[lane];
            let end = waits.partition_point(|&at| at < before);
            for &wait in waits[..end].iter().rev() {
                if seen.len() >= MOST_WAITS {
                    return likely;
                }
                if !seen.insert(wait) {
                    break;
                }
                match self.failed(race, from, wait) {
                    Some((cause, true)) => return Some(cause),
                    Some((cause, false)) => likely = likely.or(Some(cause)),
                    None => {}
                }
                ways.extend(self.behind(wait));
            }
            if self.index.lanes[lane].is_blocking() {
                ways.push_back((LEGACY, before));
            }
        }
        likely
    }

    /// The lane that a wait waits for, and up to where.
    fn behind(&self, wait: usize) -> Option<(usize, usize)> {
        let Operation { action, thread, .. } = &self.program.operations[wait];
        match action {
            Action::SynchronizeStream { stream } => Some((self.index.stream(*stream, *thread), wait)),
            Action::Wait { event, .. } | Action::SynchronizeEvent { event } => {
                self.latest(*event, wait).map(|record| (record.lane, record.operation))
            }
            _ => None,
        }
    }

    /// What is wrong with a wait, if it was meant to cover the first operation.
    fn failed(&self, race: &Race, from: usize, wait: usize) -> Option<Likely> {
        let (Action::Wait { event, .. } | Action::SynchronizeEvent { event }) =
            self.program.operations[wait].action
        else {
            return None;
        };
        let Some(records) = self.records.get(&event) else {
            return Some((Cause::NeverRecorded { wait }, false));
        };
        let n_before = records.partition_point(|record| record.operation < wait);
        let (before, after) = records.split_at(n_before);
        let covers = |record: &&Record| record.lane == from && record.operation > race.first;
        let later = after.iter().find(covers).map(|record| record.operation);
        let Some(latest) = before.last() else {
            let record = later.or(after.first().map(|record| record.operation))?;
            return Some((Cause::WaitedBeforeRecorded { wait, record }, later.is_some()));
        };
        let needed = before.iter().rev().take(MOST_WAITS).find(covers);
        if let Some(needed) = needed.filter(|needed| needed.operation != latest.operation) {
            let (needed, latest) = (needed.operation, latest.operation);
            return Some((Cause::Rerecorded { needed, latest, wait }, true));
        }
        match later {
            Some(record) if race.first > wait || record < race.second => {
                Some((Cause::WaitedBeforeRecorded { wait, record }, true))
            }
            _ if latest.lane == from && latest.operation < race.first && race.first < wait => {
                Some((Cause::RecordedTooEarly { record: latest.operation, wait }, true))
            }
            _ => None,
        }
    }

    fn latest(&self, event: EventId, before: usize) -> Option<Record> {
        let records = self.records.get(&event)?;
        let end = records.partition_point(|record| record.operation < before);
        records[..end].last().copied()
    }

    fn submitter(&self, operation: usize) -> usize {
        self.index.thread(self.program.operations[operation].thread)
    }
}

/// The place of each operation: the first that was submitted there.
fn places(program: &Program) -> Vec<Place> {
    let mut known: HashMap<(&Caller, &str), usize> = HashMap::default();
    let operations = program.operations.iter().enumerate();
    let first = operations.map(|(at, Operation { caller, name, .. })| match caller.line {
        0 => at,
        _ => *known.entry((caller, name)).or_insert(at),
    });
    first.map(Place).collect()
}
