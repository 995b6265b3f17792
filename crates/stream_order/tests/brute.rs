//! The checker against reachability in an explicit graph, on random programs of all kinds of operation.
//!
//! The graph is made from the rules anew, without clocks: every operation gets an edge from each that it is after. Then
//! what was found must be just what is missing: each pair is unordered although the pairs found before it are ordered, and
//! with all of them ordered nothing is left.

#[path = "support/random.rs"]
mod random;
mod support;

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use random::{Reach, programs};
use stream_order::program::*;
use stream_order::{Clash, Race};

/// The moments of an operation: a kernel starts, is past its wait, ends. `Host` is what the calling thread does itself.
/// Of a record, `Main` is the stream's place for it, and `End` what it captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Moment {
    Host,
    Start,
    Main,
    End,
}

type Node = (usize, Moment);

/// Something touches bytes at a moment, and is done with them at another.
#[derive(Clone, Debug)]
struct Touch {
    operation: usize,
    at: Node,
    done: Node,
    span: Span,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Queue {
    Default,
    OfThread(ThreadId),
    Made(StreamId),
}

struct Graph<'p> {
    program: &'p Program,
    /// For each node the nodes that it is after, itself included.
    after: HashMap<Node, BTreeSet<Node>>,
    touches: Vec<Touch>,
    /// Every operation that went into a queue, in order, and what later ones of the queue are after.
    queued: Vec<(Node, Queue)>,
    points: HashMap<ThreadId, BTreeSet<Node>>,
    records: HashMap<EventId, usize>,
    /// What each wait of a stream took.
    waited_for: HashMap<usize, Node>,
    assumed: HashMap<Node, Vec<Node>>,
    /// What the program's times miss: the last work of a stream, and the record of the stop.
    late: Vec<(usize, usize)>,
}

impl<'p> Graph<'p> {
    /// The graph of the program with the races put in order.
    fn of(program: &'p Program, races: &[Race]) -> Self {
        let mut graph = Graph {
            program,
            after: HashMap::new(),
            touches: Vec::new(),
            queued: Vec::new(),
            points: HashMap::new(),
            records: HashMap::new(),
            waited_for: HashMap::new(),
            assumed: HashMap::new(),
            late: Vec::new(),
        };
        for race in races {
            graph.assume(race);
        }
        for (at, operation) in program.operations.iter().enumerate() {
            graph.add(at, operation);
        }
        graph
    }

    fn assume(&mut self, race: &Race) {
        let Clash::Memory { buffer, before_wait, .. } = race.clash else { return };
        let [first, second] = [race.first, race.second].map(|at| self.actor(at, buffer));
        let target = match second {
            None => (race.second, Moment::Host),
            Some(_) => (race.second, if before_wait { Moment::Start } else { Moment::Main }),
        };
        let sources: Vec<Node> = match first {
            None => vec![(race.first, Moment::Host)],
            // What an event behind the first would capture: the stream up to it.
            Some(_) => {
                (0..=race.first).filter(|&at| self.queue(at) == first).map(|at| self.place(at)).collect()
            }
        };
        self.assumed.entry(target).or_default().extend(sources);
    }

    /// The queue in which an operation touches the buffer; none when its thread does.
    fn actor(&self, at: usize, buffer: BufferId) -> Option<Queue> {
        match &self.program.operations[at].action {
            Action::Copy(copy) if self.is_staged(copy) && copy.from.buffer == buffer => None,
            _ => self.queue(at),
        }
    }

    fn memory(&self, id: BufferId) -> Memory {
        let known = self.program.buffers.iter().find(|buffer| buffer.id == id);
        known.map_or(Memory::Device, |buffer| buffer.memory)
    }

    fn is_staged(&self, copy: &Copy) -> bool {
        let memories = (self.memory(copy.from.buffer), self.memory(copy.to.buffer));
        !copy.is_async && memories == (Memory::Pageable, Memory::Device)
    }

    fn kind(&self, id: StreamId) -> StreamKind {
        self.program.streams.iter().find(|s| s.id == id).map_or(StreamKind::Blocking, |s| s.kind)
    }

    fn queue_of(&self, id: StreamId, thread: ThreadId) -> Queue {
        match self.kind(id) {
            StreamKind::Legacy => Queue::Default,
            StreamKind::PerThread => Queue::OfThread(thread),
            _ => Queue::Made(id),
        }
    }

    fn queue(&self, at: usize) -> Option<Queue> {
        let Operation { action, thread, .. } = &self.program.operations[at];
        action.stream().map(|stream| self.queue_of(stream, *thread))
    }

    /// What later operations of its queue are after.
    fn place(&self, at: usize) -> Node {
        let is_record = matches!(self.program.operations[at].action, Action::Record { .. });
        (at, if is_record { Moment::Main } else { Moment::End })
    }

    fn is_work(&self, at: usize) -> bool {
        let action = &self.program.operations[at].action;
        matches!(action, Action::Launch(_) | Action::Copy(_) | Action::Memset(_))
    }

    /// Whether an operation in `other` is before a later one in `queue`.
    fn is_before(&self, other: Queue, queue: Queue) -> bool {
        let blocks = |queue| match queue {
            Queue::Default => false,
            Queue::OfThread(_) => true,
            Queue::Made(id) => self.kind(id) == StreamKind::Blocking,
        };
        other == queue || other == Queue::Default && blocks(queue) || queue == Queue::Default && blocks(other)
    }

    fn put(&mut self, node: Node, after: impl IntoIterator<Item = Node>) {
        let mut all = BTreeSet::from([node]);
        let assumed = self.assumed.get(&node).cloned().unwrap_or_default();
        for before in after.into_iter().chain(assumed) {
            all.extend(self.after[&before].iter().copied());
        }
        self.after.insert(node, all);
    }

    /// Everything that is before new work of the queue.
    fn ends(&self, queue: Queue) -> Vec<Node> {
        let before = self.queued.iter().filter(|(_, other)| self.is_before(*other, queue));
        before.map(|&(node, _)| node).collect()
    }

    /// Everything that is in the queue.
    fn inside(&self, queue: Queue) -> Vec<Node> {
        let inside = self.queued.iter().filter(|(_, other)| queue == Queue::Default || *other == queue);
        inside.filter(|(_, other)| self.is_before(*other, queue)).map(|&(node, _)| node).collect()
    }

    fn point(&self, thread: ThreadId) -> Vec<Node> {
        self.points.get(&thread).into_iter().flatten().copied().collect()
    }

    /// The thread does something of its own.
    fn host(&mut self, at: usize, thread: ThreadId, after: Vec<Node>) {
        let before = self.point(thread);
        self.put((at, Moment::Host), before.into_iter().chain(after));
        self.points.insert(thread, BTreeSet::from([(at, Moment::Host)]));
    }

    fn enqueue(&mut self, at: usize, queue: Queue, thread: ThreadId, also: Vec<Node>) {
        // A whole operation is repaired as a whole: what its memory has to be after, it starts after.
        let assumed = self.assumed.get(&(at, Moment::Main)).cloned().unwrap_or_default();
        let before = self.ends(queue).into_iter().chain(self.point(thread)).chain(also).chain(assumed);
        self.put((at, Moment::Start), before.collect::<Vec<_>>());
        self.put((at, Moment::Main), [(at, Moment::Start)]);
        self.put((at, Moment::End), [(at, Moment::Main)]);
        self.queued.push((self.place(at), queue));
    }

    /// Whether the kernel may start before the one before it is complete.
    fn launch(&mut self, at: usize, queue: Queue, thread: ThreadId, launch: &Launch) -> bool {
        let own = self.queued.iter().rev().filter(|(_, other)| *other == queue).map(|((at, _), _)| *at);
        let primary = own.clone().find(|&at| self.is_work(at)).filter(|&before| {
            launch.programmatic && matches!(self.program.operations[before].action, Action::Launch(_))
        });
        let Some(primary) = primary else {
            self.enqueue(at, queue, thread, Vec::new());
            return false;
        };
        // What it does not wait for is the end of the primary. It waits for events, and for the other side's barrier.
        let waits = own.take_while(|&at| at != primary);
        let events: Vec<_> = waits.filter_map(|wait| self.waited_for.get(&wait).copied()).collect();
        let others = self.queued.iter().filter(|(_, other)| *other != queue && self.is_before(*other, queue));
        let others: Vec<_> = others.map(|&(node, _)| node).collect();
        let before =
            self.point(thread).into_iter().chain([(primary, Moment::Start)]).chain(events).chain(others);
        let before: Vec<_> = before.collect();
        self.put((at, Moment::Start), before);
        let end = launch.waits.then_some((primary, Moment::End));
        self.put((at, Moment::Main), [(at, Moment::Start)].into_iter().chain(end));
        self.put((at, Moment::End), [(at, Moment::Main)]);
        self.queued.push((self.place(at), queue));
        true
    }

    fn add(&mut self, at: usize, operation: &Operation) {
        let thread = operation.thread;
        let queue = |stream| self.queue_of(stream, thread);
        match &operation.action {
            Action::Launch(launch) => {
                let is_dependent = self.launch(at, queue(launch.stream), thread, launch);
                for Access { span, mode, before_wait } in &launch.accesses {
                    let is_early = *before_wait && is_dependent && launch.waits;
                    self.touch(at, if is_early { Moment::Start } else { Moment::Main }, span, *mode);
                }
            }
            Action::Copy(copy) => {
                let queue = queue(copy.stream);
                let staged = self.is_staged(copy);
                if staged {
                    let ends = self.ends(queue);
                    self.host(at, thread, ends);
                }
                self.enqueue(at, queue, thread, Vec::new());
                self.touch(at, if staged { Moment::Host } else { Moment::Main }, &copy.from, Mode::Read);
                self.touch(at, Moment::Main, &copy.to, Mode::Write);
                let on_device = [&copy.from, &copy.to].map(|span| self.memory(span.buffer) == Memory::Device);
                let waits = match on_device {
                    [true, true] => false,
                    [false, false] => true,
                    _ => !copy.is_async && !staged,
                };
                if waits {
                    self.points.entry(thread).or_default().insert((at, Moment::End));
                }
            }
            Action::Memset(memset) => {
                self.enqueue(at, queue(memset.stream), thread, Vec::new());
                self.touch(at, Moment::Main, &memset.to, Mode::Write);
                if !memset.is_async && self.memory(memset.to.buffer) != Memory::Device {
                    self.points.entry(thread).or_default().insert((at, Moment::End));
                }
            }
            Action::Record { event, stream } => {
                let queue = queue(*stream);
                self.put((at, Moment::Main), self.inside(queue));
                let captured = [self.ends(queue), self.point(thread), vec![(at, Moment::Main)]].concat();
                self.put((at, Moment::End), captured);
                self.queued.push((self.place(at), queue));
                self.records.insert(*event, at);
            }
            Action::Wait { stream, event } => {
                let queue = queue(*stream);
                let record = self.records.get(event).map(|&record| (record, Moment::End));
                self.waited_for.extend(record.map(|record| (at, record)));
                self.put((at, Moment::End), self.inside(queue).into_iter().chain(record));
                self.queued.push((self.place(at), queue));
            }
            Action::SynchronizeStream { stream } => self.host(at, thread, self.inside(queue(*stream))),
            Action::SynchronizeEvent { event } => {
                let record = self.records.get(event).map(|&record| (record, Moment::End));
                self.host(at, thread, record.into_iter().collect());
            }
            Action::SynchronizeDevice => {
                let ends = self.queued.iter().map(|&(node, _)| node).collect();
                self.host(at, thread, ends);
            }
            Action::Host { span, mode } => {
                self.host(at, thread, Vec::new());
                self.touch(at, Moment::Host, span, *mode);
            }
            Action::HandOver { to } => {
                self.host(at, thread, Vec::new());
                self.points.entry(*to).or_default().insert((at, Moment::Host));
            }
            Action::Elapsed { start, stop, of_all_work } => self.elapsed(*start, *stop, *of_all_work),
            Action::DestroyStream { .. } => {}
            Action::DestroyEvent { event } => _ = self.records.remove(event),
        }
    }

    fn touch(&mut self, operation: usize, moment: Moment, span: &Span, mode: Mode) {
        let done = if moment == Moment::Host { Moment::Host } else { Moment::End };
        let (at, done) = ((operation, moment), (operation, done));
        self.touches.push(Touch { operation, at, done, span: span.clone(), mode });
    }

    fn elapsed(&mut self, start: EventId, stop: EventId, of_all_work: bool) {
        let (Some(&start), Some(&stop)) = (self.records.get(&start), self.records.get(&stop)) else { return };
        let between = self.queued.iter().map(|&((at, _), queue)| (at, queue));
        let between = between.filter(|(at, _)| start < *at && *at < stop && self.is_work(*at));
        let (held, missed): (Vec<_>, Vec<_>) =
            between.partition(|&(at, _)| self.is_after((stop, Moment::End), (at, Moment::End)));
        if held.is_empty() || of_all_work {
            let last: HashMap<Queue, usize> = missed.iter().map(|&(at, queue)| (queue, at)).collect();
            self.late.extend(last.into_values().map(|at| (at, stop)));
        }
    }

    fn is_after(&self, node: Node, before: Node) -> bool {
        self.after[&node].contains(&before)
    }

    /// The longest chain of launches and memsets of which each is after the end of the one before it.
    fn depth(&self) -> u64 {
        let mut depths: Vec<(usize, u64)> = Vec::new();
        for at in (0..self.program.operations.len()).filter(|&at| counts(self.program, at) == 1) {
            let before =
                depths.iter().filter(|(before, _)| self.is_after((at, Moment::Main), (*before, Moment::End)));
            depths.push((at, 1 + before.map(|(_, depth)| *depth).max().unwrap_or(0)));
        }
        depths.into_iter().map(|(_, depth)| depth).max().unwrap_or(0)
    }

    /// Every conflicting pair without a path.
    fn unordered(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for second in &self.touches {
            for first in self.touches.iter().filter(|first| first.operation < second.operation) {
                let (a, b) = (&first.span.bytes, &second.span.bytes);
                let share =
                    first.span.buffer == second.span.buffer && a.start.max(b.start) < a.end.min(b.end);
                let writes = first.mode == Mode::Write || second.mode == Mode::Write;
                if share && writes && !self.is_after(second.at, first.done) {
                    pairs.push((first.operation, second.operation));
                }
            }
        }
        pairs
    }
}

/// Copies, of which some are in two places, count nothing here.
fn counts(program: &Program, at: usize) -> u64 {
    u64::from(matches!(program.operations[at].action, Action::Launch(_) | Action::Memset(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_is_missing(
        program in programs(Reach { identities: 0, wild_ranges: false }, 0..30)
    ) {
        let races = stream_order::races(&program);
        let (memory, time): (Vec<_>, Vec<_>) =
            races.into_iter().partition(|race| matches!(race.clash, Clash::Memory { .. }));
        for (i, race) in memory.iter().enumerate() {
            let missing = Graph::of(&program, &memory[..i]).unordered();
            prop_assert!(missing.contains(&(race.first, race.second)), "{race:?} is ordered or implied");
        }
        let repaired = Graph::of(&program, &memory);
        prop_assert_eq!(repaired.unordered(), [], "found {:?}", memory);
        let mut late = repaired.late;
        let mut found: Vec<_> = time.iter().map(|race| (race.first, race.second)).collect();
        late.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, late);
    }

    #[test]
    fn the_critical_path_is_the_longest_chain(
        program in programs(Reach { identities: 0, wild_ranges: false }, 0..40)
    ) {
        let path = stream_order::critical_path(&program, |at| counts(&program, at));
        let graph = Graph::of(&program, &[]);
        prop_assert_eq!(path.length, graph.depth());
        prop_assert_eq!(path.operations.len() as u64, path.length);
        for pair in path.operations.windows(2) {
            prop_assert!(graph.is_after((pair[1], Moment::Main), (pair[0], Moment::End)), "{:?}", pair);
        }
    }

    #[test]
    fn every_pair_is_in_one_finding_and_every_finding_names_its_pairs(
        program in programs(Reach { identities: 0, wild_ranges: false }, 0..30)
    ) {
        let mut pairs: Vec<_> =
            stream_order::races(&program).iter().map(|race| (race.first, race.second)).collect();
        let findings = stream_order::check(&program);
        let mut found = Vec::new();
        for finding in &findings {
            prop_assert!(finding.after < finding.before || finding.after == finding.race.first);
            found.extend([&finding.race].into_iter().chain(&finding.more).map(|race| (race.first, race.second)));
        }
        pairs.sort_unstable();
        found.sort_unstable();
        prop_assert_eq!(found, pairs);
    }
}
