//! An edge that a program has and could do without: it makes the critical path longer, and no two operations that share memory
//! need it.

use std::collections::{BTreeSet, HashSet};

use crate::check::races;
use crate::path::{critical_path, predecessors};
use crate::program::{
    Action, Caller, EventId, Mode, Operation, Program, Span, Stream, StreamId, StreamKind, ThreadId,
};

/// An edge without which the critical path is shorter. Operations are indices in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needless {
    /// What makes the edge: a wait of a stream or of the host, or the waiting operation itself, by the stream that it is in.
    pub made_by: usize,
    /// The earlier operation, on the critical path.
    pub awaited: usize,
    /// The later operation, on the critical path.
    pub waiting: usize,
    /// The length of the critical path without the edge.
    pub length: u64,
}

/// Returns the edge without which the critical path gets shortest, where an operation counts `weight` of its index. Of edges that
/// are as good, a wait comes before a stream. `None` where every edge on the critical path is needed, or no single one is to blame.
///
/// Each wait, and each stream for the operations of the critical path, is left out in turn. What the data needs of the order that is
/// lost that way is put back, so the result has no missing edge where the program has none. Where another chain is as long as the
/// critical path, the length may stay what it was.
///
/// Cost: a check for each wait and each operation on the critical path; for small programs.
pub fn needless(program: &Program, weight: impl Fn(usize) -> u64) -> Option<Needless> {
    let path = critical_path(program, &weight);
    let needed = needed(program);
    let pairs = path.operations.windows(2).map(|pair| (pair[0], pair[1]));
    let mut best: Option<(bool, Needless)> = None;
    for (awaited, waiting) in pairs.filter(|(awaited, waiting)| !needed[*waiting].contains(awaited)) {
        let waits = (0..waiting).filter(|&at| is_wait(&program.operations[at].action));
        for made_by in waits.chain([waiting]) {
            let Some(without) = Variant::without(program, made_by) else { continue };
            if without.orders(awaited, waiting) {
                continue;
            }
            let length = critical_path(&without.program, |at| without.origin[at].map_or(0, &weight)).length;
            let by_stream = made_by == waiting;
            if best.is_none_or(|(known, best)| (length, by_stream) < (best.length, known)) {
                best = Some((by_stream, Needless { made_by, awaited, waiting, length }));
            }
        }
    }
    best.map(|(_, needless)| needless)
}

fn is_wait(action: &Action) -> bool {
    matches!(
        action,
        Action::Wait { .. }
            | Action::SynchronizeStream { .. }
            | Action::SynchronizeEvent { .. }
            | Action::SynchronizeDevice
    )
}

/// Returns for each operation the earlier ones that it must follow: those that it shares memory with, one of the two writing, and
/// those that these must follow.
fn needed(program: &Program) -> Vec<BTreeSet<usize>> {
    let mut needed: Vec<BTreeSet<usize>> = Vec::new();
    for (at, operation) in program.operations.iter().enumerate() {
        let mut mine = BTreeSet::new();
        for (before, earlier) in program.operations[..at].iter().enumerate() {
            if conflict(&earlier.action, &operation.action) {
                mine.insert(before);
                mine.extend(&needed[before]);
            }
        }
        needed.push(mine);
    }
    needed
}

fn conflict(one: &Action, other: &Action) -> bool {
    let share = |one: &Span, other: &Span| {
        one.buffer == other.buffer
            && one.bytes.start.max(other.bytes.start) < one.bytes.end.min(other.bytes.end)
    };
    one.spans().any(|(span, mode)| {
        other
            .spans()
            .any(|(with, with_mode)| share(span, with) && (mode == Mode::Write || with_mode == Mode::Write))
    })
}

/// The program without one edge, and with an event for each order that was lost and is needed.
struct Variant {
    program: Program,
    /// For each operation its index in the original; none for what was added.
    origin: Vec<Option<usize>>,
}

impl Variant {
    /// Leaves out a wait, or moves an operation to a stream of its own. `None` where events cannot put the needed order back.
    fn without(program: &Program, edge: usize) -> Option<Variant> {
        let mut origin: Vec<Option<usize>> = (0..program.operations.len()).map(Some).collect();
        let mut program = program.clone();
        if is_wait(&program.operations[edge].action) {
            program.operations.remove(edge);
            origin.remove(edge);
        } else {
            let id = unused_stream(&program);
            let own = Stream { id, name: "own".into(), kind: StreamKind::NonBlocking };
            program.streams.push(own);
            match &mut program.operations[edge].action {
                Action::Launch(launch) => launch.stream = id,
                Action::Copy(copy) => copy.stream = id,
                Action::Memset(memset) => memset.stream = id,
                _ => return None,
            }
        }
        Variant { program, origin }.repaired()
    }

    fn repaired(self) -> Option<Variant> {
        let Variant { program, origin } = self;
        let races = races(&program);
        let mut events = unused_events(&program);
        let mut before: Vec<Vec<Action>> = vec![Vec::new(); program.operations.len()];
        let mut after = before.clone();
        for race in &races {
            let event = events.next()?;
            let stream = |at: usize| program.operations[at].action.stream();
            after[race.first].push(Action::Record { event, stream: stream(race.first)? });
            before[race.second].push(Action::Wait { stream: stream(race.second)?, event });
        }
        let added = |thread: ThreadId, action: Action| {
            (Operation { name: "".into(), caller: Caller::default(), thread, action }, None)
        };
        let (mut operations, mut origins) = (Vec::new(), Vec::new());
        let around = before.into_iter().zip(after);
        for ((operation, origin), (before, after)) in program.operations.into_iter().zip(origin).zip(around) {
            let thread = operation.thread;
            let before = before.into_iter().map(|action| added(thread, action));
            let after = after.into_iter().map(|action| added(thread, action));
            for (operation, origin) in before.chain([(operation, origin)]).chain(after) {
                operations.push(operation);
                origins.push(origin);
            }
        }
        let program = Program { operations, ..program };
        crate::races(&program).is_empty().then_some(Variant { program, origin: origins })
    }

    /// Whether one operation of the original is still after another.
    fn orders(&self, first: usize, second: usize) -> bool {
        let place = |original| self.origin.iter().position(|origin| *origin == Some(original));
        let (Some(first), Some(second)) = (place(first), place(second)) else { return false };
        predecessors(&self.program)[second].contains(&first)
    }
}

fn unused_stream(program: &Program) -> StreamId {
    let declared = program.streams.iter().map(|stream| stream.id);
    let used = program.operations.iter().filter_map(|operation| operation.action.stream());
    let taken: HashSet<StreamId> = declared.chain(used).collect();
    (0..).map(StreamId).find(|id| !taken.contains(id)).unwrap_or(StreamId(0))
}

fn unused_events(program: &Program) -> impl Iterator<Item = EventId> + use<> {
    let mut taken: HashSet<EventId> = program.events.iter().map(|event| event.id).collect();
    for operation in &program.operations {
        match operation.action {
            Action::Record { event, .. }
            | Action::Wait { event, .. }
            | Action::SynchronizeEvent { event }
            | Action::DestroyEvent { event } => _ = taken.insert(event),
            Action::Elapsed { start, stop, .. } => taken.extend([start, stop]),
            _ => {}
        }
    }
    (0..).map(EventId).filter(move |id| !taken.contains(id))
}
