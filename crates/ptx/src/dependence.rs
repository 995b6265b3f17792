//! Whether a kernel has a `griddepcontrol.wait`, and what it can do before it. It knows no launch and no buffer.
//!
//! PTX promises a kernel that starts early nothing of the grids before it until its wait: what it touches earlier is in
//! order with none of their accesses. What "earlier" is follows from the text alone:
//!
//! - A kernel waits when a thread can reach a wait. One thread that waits is enough to hold the grid's end back until the
//!   grids before it are complete, so a kernel in which others return without a wait still waits.
//! - An access is before the wait when a path from the entry leads to it past no wait. A wait under a predicate may be
//!   skipped. That two branches depend on one condition is not seen: the path that takes one of them alone counts.
//! - An access belongs to each parameter whose value its address is made of: through registers, calls, and memory that the
//!   kernel's threads fill themselves (local and shared memory, each taken as one place that holds whatever was put there).
//!   It may name a parameter too many, as where one pointer's alignment is part of another's index.
//! - What comes out of device memory is a number. An index read from a table does not make every parameter suspect; in
//!   return a pointer that lies in device memory is followed nowhere.
//! - Loads of parameters, accesses to shared, local and constant memory and to the module's variables are none.
//!
//! So `waits` is never false for a kernel that waits, and what is said to be touched early is on a path of the text.

use std::collections::{BTreeMap, BTreeSet};

use super::action::{Action, Call};
use super::instruction::{Address, Base, Instruction, Module, Reg, Source, Space, Target};
use super::op::Alu;

/// How a kernel depends on the grids before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Whether a thread can reach a `griddepcontrol.wait`.
    pub waits: bool,
    /// For each PTX parameter, what can happen before a wait to the memory that it points to; without a wait, at all.
    /// Parameters from the 64th on share one answer.
    pub before_wait: Vec<Touches>,
}

/// What happens to the memory that a parameter points to. An atomic is both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// It is read.
    pub reads: bool,
    /// It is written.
    pub writes: bool,
}

impl Module {
    /// Returns how the kernel of that name depends on the grids before it, or `None` where the module has no such kernel.
    ///
    /// It keeps a value of 16 bytes for each register of a function at each place of it where paths meet.
    pub fn dependence(&self, kernel: &str) -> Option<Dependence> {
        let Some(&Target::Function(index)) = self.names.get(kernel) else { return None };
        let entry = Some(&self.functions[index as usize]).filter(|function| function.entry)?;
        let mut walk = Walk::new(self);
        walk.enter(index);
        for parameter in 0..entry.parameters.len() as u32 {
            let made_of = Value { from: bit(parameter), ..Value::default() };
            walk.function(index).parameters.insert(parameter, made_of);
        }
        while let Some((function, place)) = walk.todo.pop_first() {
            walk.follow(function, place);
        }
        let touched = |parameter| Touches {
            reads: walk.reads & bit(parameter) != 0,
            writes: walk.writes & bit(parameter) != 0,
        };
        let before_wait = (0..entry.parameters.len() as u32).map(touched).collect();
        Some(Dependence { waits: walk.waits, before_wait })
    }
}

fn bit(parameter: u32) -> u64 {
    1 << parameter.min(63)
}

/// What a value is made of, as sets of the kernel's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Value {
    /// Those whose value went into it.
    from: u64,
    /// Those whose value lies where it points: it is the address of a parameter itself.
    to: u64,
}

impl Value {
    /// Takes in another; whether that was news.
    fn join(&mut self, other: Value) -> bool {
        let old = *self;
        *self = Value { from: self.from | other.from, to: self.to | other.to };
        *self != old
    }

    fn of(values: impl IntoIterator<Item = Value>) -> Value {
        values.into_iter().fold(Value::default(), |mut all, value| {
            all.join(value);
            all
        })
    }
}

/// A function, as far as paths without a wait lead into it. What it is called with is one for all calls.
#[derive(Default)]
struct Reached {
    parameters: BTreeMap<u32, Value>,
    /// What it returns.
    returned: BTreeMap<u32, Value>,
    /// The variables that it declared for its own calls.
    arguments: BTreeMap<u32, Value>,
    /// Whether a path leads through it without a wait.
    returns: bool,
    /// The registers where it begins and where paths meet, by the place in the code.
    states: BTreeMap<u32, Vec<Value>>,
}

/// All paths from the entry up to the first wait on each. Everything only grows until nothing changes, so loops and
/// recursion end.
struct Walk<'m> {
    module: &'m Module,
    functions: BTreeMap<u32, Reached>,
    /// Where to go on: a function, and a place in it that has a state.
    todo: BTreeSet<(u32, u32)>,
    /// Local and shared memory.
    memory: Value,
    waits: bool,
    reads: u64,
    writes: u64,
}

impl<'m> Walk<'m> {
    fn new(module: &'m Module) -> Self {
        Walk {
            module,
            functions: BTreeMap::new(),
            todo: BTreeSet::new(),
            memory: Value::default(),
            waits: false,
            reads: 0,
            writes: 0,
        }
    }

    fn function(&mut self, index: u32) -> &mut Reached {
        self.functions.entry(index).or_default()
    }

    /// Begins a function.
    fn enter(&mut self, index: u32) {
        let registers = self.module.functions[index as usize].body.registers.len();
        self.meet(index, 0, &vec![Value::default(); registers]);
    }

    /// A path comes to a place with these registers.
    fn meet(&mut self, function: u32, place: u32, registers: &[Value]) {
        let states = &mut self.function(function).states;
        let is_new = match states.get_mut(&place) {
            None => {
                states.insert(place, registers.to_vec());
                true
            }
            Some(known) => {
                known.iter_mut().zip(registers).fold(false, |news, (old, value)| old.join(*value) | news)
            }
        };
        if is_new {
            self.todo.insert((function, place));
        }
    }

    /// Something that is not a register holds more than was known: whoever reads it looks again.
    fn look_again(&mut self, is_news: bool) {
        if is_news {
            let places = self
                .functions
                .iter()
                .flat_map(|(&function, reached)| reached.states.keys().map(move |&place| (function, place)));
            self.todo.extend(places);
        }
    }

    /// Follows the path that begins at a place, up to where it ends or meets another.
    fn follow(&mut self, function: u32, start: u32) {
        let code = &self.module.functions[function as usize].body.code;
        let mut registers = self.function(function).states[&start].clone();
        for (place, instruction) in (start..).zip(&code[(start as usize).min(code.len())..]) {
            if place != start && self.function(function).states.contains_key(&place) {
                return self.meet(function, place, &registers);
            }
            let goes_on = self.step(function, instruction, &mut registers);
            if !goes_on && instruction.guard.is_none() {
                return;
            }
        }
        self.leave(function);
    }

    fn leave(&mut self, function: u32) {
        let is_news = !std::mem::replace(&mut self.function(function).returns, true);
        self.look_again(is_news);
    }

    /// One instruction; whether a thread that executes it comes to the next one without a wait.
    fn step(&mut self, function: u32, instruction: &Instruction, registers: &mut [Value]) -> bool {
        let value = |source: &Source| match source {
            Source::Reg(Reg(reg)) => registers[*reg as usize],
            Source::Bits(_) => Value::default(),
        };
        let at = |address: &Address| match address.base {
            Base::Reg(reg) => value(&Source::Reg(reg)),
            _ => Value::default(),
        };
        let (to, result) = match &instruction.action {
            Action::Wait => {
                self.waits = true;
                return false;
            }
            Action::Exit | Action::Trap => return false,
            Action::Return => {
                self.leave(function);
                return false;
            }
            Action::Branch { to } => {
                self.meet(function, *to, registers);
                return false;
            }
            Action::BranchIndexed { to, .. } => {
                to.iter().for_each(|&to| self.meet(function, to, registers));
                return false;
            }
            Action::Call(call) => return self.call(function, call),
            Action::Alu { op, to, from } => (Some(*to), computed(*op, from.map(|source| value(&source)))),
            Action::AddressOf { to, address, .. } => {
                let lies_there = self.slot(function, address.base).map_or(0, |slot| slot.from);
                (Some(*to), Value { from: 0, to: lies_there })
            }
            Action::Convert { to, from, .. } => (Some(*to), value(from)),
            Action::Shuffle { to, from: [from, ..], .. } => (Some(*to), value(from)),
            Action::Load { space, to, address, .. } => {
                let result = self.load(function, *space, address.base, at(address));
                to.iter().flatten().for_each(|&to| write(registers, instruction, to, result));
                return true;
            }
            Action::Store { space, from, address, .. } => {
                self.writes |= device(*space, at(address));
                self.keep(function, *space, address.base, Value::of(from.iter().map(value)));
                return true;
            }
            Action::Atomic { space, to, address, from, .. } => {
                self.writes |= device(*space, at(address));
                self.keep(function, *space, address.base, Value::of(from.iter().map(value)));
                (*to, self.load(function, *space, address.base, at(address)))
            }
            Action::ReadSpecial { to, .. } | Action::Vote { to, .. } | Action::ActiveMask { to } => {
                (Some(*to), Value::default())
            }
            Action::Barrier { reduce, .. } => (reduce.as_ref().map(|reduce| reduce.to), Value::default()),
            Action::WarpBarrier { .. } | Action::Fence | Action::Trigger => return true,
        };
        if let Some(to) = to {
            write(registers, instruction, to, result);
        }
        true
    }

    /// Notes a load; what it gives.
    fn load(&mut self, function: u32, space: Space, base: Base, at: Value) -> Value {
        self.reads |= device(space, at);
        let pointed_to = Value { from: at.to, to: 0 };
        match space {
            Space::Global | Space::Constant => Value::default(),
            Space::Shared | Space::Local => self.memory,
            Space::Generic => Value::of([self.memory, pointed_to]),
            Space::Parameter => match self.slot(function, base) {
                Some(slot) => *slot,
                None => Value::of([self.memory, pointed_to]),
            },
        }
    }

    /// Keeps what a store puts somewhere.
    fn keep(&mut self, function: u32, space: Space, base: Base, value: Value) {
        let is_news = match space {
            Space::Global | Space::Constant => false,
            Space::Shared | Space::Local | Space::Generic => self.memory.join(value),
            Space::Parameter => match self.slot(function, base) {
                Some(slot) => slot.join(value),
                None => self.memory.join(value),
            },
        };
        self.look_again(is_news);
    }

    /// What a name of the space of parameters stands for.
    fn slot(&mut self, function: u32, base: Base) -> Option<&mut Value> {
        let reached = self.function(function);
        match base {
            Base::Parameter(number) => Some(reached.parameters.entry(number).or_default()),
            Base::Return(number) => Some(reached.returned.entry(number).or_default()),
            Base::Argument(number) => Some(reached.arguments.entry(number).or_default()),
            Base::Zero | Base::Reg(_) | Base::Module(_) | Base::Local(_) => None,
        }
    }

    /// Whether a call comes back without a wait. One through a pointer may go to every function that takes as much.
    fn call(&mut self, caller: u32, call: &Call) -> bool {
        let fits = |index: &u32| {
            let function = &self.module.functions[*index as usize];
            !function.entry
                && function.parameters.len() == call.arguments.len()
                && function.returns.len() == call.returns.len()
        };
        let callees: Vec<u32> = match call.callee {
            Ok(callee) => vec![callee],
            Err(_) => (0..self.module.functions.len() as u32).filter(fits).collect(),
        };
        let mut comes_back = false;
        for callee in callees {
            self.enter(callee);
            for (number, &argument) in (0..).zip(&call.arguments) {
                self.pass((caller, Base::Argument(argument)), (callee, Base::Parameter(number)));
            }
            if self.function(callee).returns {
                comes_back = true;
                for (number, &result) in (0..).zip(&call.returns) {
                    self.pass((callee, Base::Return(number)), (caller, Base::Argument(result)));
                }
            }
        }
        comes_back
    }

    /// A value goes from one function's slot to another's.
    fn pass(&mut self, from: (u32, Base), to: (u32, Base)) {
        let value = self.slot(from.0, from.1).map_or_else(Value::default, |slot| *slot);
        let is_news = self.slot(to.0, to.1).is_some_and(|slot| slot.join(value));
        self.look_again(is_news);
    }
}

/// The parameters whose memory an access at that address reaches, if it goes to the device's.
fn device(space: Space, at: Value) -> u64 {
    if matches!(space, Space::Global | Space::Generic) { at.from } else { 0 }
}

/// Writes a register. Where the guard does not hold, the old value stays.
fn write(registers: &mut [Value], instruction: &Instruction, Reg(to): Reg, value: Value) {
    let register = &mut registers[to as usize];
    if instruction.guard.is_none() {
        *register = value;
    } else {
        register.join(value);
    }
}

/// What a computed value is made of. What a choice goes by is no part of what is chosen.
fn computed(op: Alu, from: [Value; 4]) -> Value {
    let parts = match op {
        Alu::Select(_) | Alu::SelectSign(_) => 2,
        _ => op.signature().1.len(),
    };
    Value::of(from[..parts].iter().copied())
}
