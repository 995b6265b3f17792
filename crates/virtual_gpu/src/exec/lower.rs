//! A function of the module becomes code: blocks are ordered, loads brought together, registers placed, steps decoded.

mod address;
mod fuse;

use ptx::op::Kind;
use ptx::{Action, Base, CallLayout, Error, Function, Instruction, Module, Reg, Source};

use self::fuse::{group, is_access};
use super::flow::{Flow, FlowBlock, FlowEnd};
use super::live::Live;
use super::place::Places;
use super::schedule::{self, Scratch};
use super::step::{AccessGroup, Block, Code, End, Place, Reduce, Step, Value, What, offsets};
use super::tally::Meter;
use super::{uniform, usage};
use crate::segment::CostTable;

/// What a function's code depends on beyond the function.
pub(super) struct Setting<'m> {
    pub module: &'m Module,
    /// The address of each variable: in device memory, or the offset in shared memory.
    pub addresses: &'m [u64],
    pub costs: &'m CostTable,
}

/// Lowers one function.
pub(super) fn function(setting: &Setting<'_>, number: u32) -> Result<Code, Error> {
    let function = &setting.module.functions[number as usize];
    let kinds = &function.body.registers;
    let too_large = || Error::new("a function is too large", function.line, &function.name);
    let mut flow = Flow::new(&function.body).ok_or_else(too_large)?;
    let mut scratch = Scratch::new(kinds.len());
    flow.blocks.iter_mut().for_each(|block| schedule::arrange(&mut block.code, &mut scratch));
    let live = Live::new(&flow, kinds.len()).ok_or_else(too_large)?;
    let varying = uniform::varying(&flow, &live, kinds.len(), function.entry);
    let places = Places::new(&flow, &live, kinds, &varying);
    let mut lowering = Lowering::new(setting, function, &live, places)?;
    lowering.count_reads(&flow);
    let mut blocks = Vec::with_capacity(flow.blocks.len());
    for (number, block) in flow.blocks.iter().enumerate() {
        blocks.push(lowering.block(number as u32, block)?);
    }
    Ok(Code {
        name: function.name.clone(),
        panics: function.no_return && super::panic::is_core(&function.name),
        blocks,
        rows: lowering.places.rows,
        temporaries: lowering.places.temporaries,
        scalars: lowering.places.scalars,
        local_bytes: lowering.local_bytes,
        local_reach: lowering.local_bytes + lowering.passed,
        layout: layout_of(function),
    })
}

/// Sizes of what a function returns and takes.
pub(super) fn layout_of(function: &Function) -> CallLayout {
    let sizes = |list: &[ptx::Parameter]| list.iter().map(|p| (p.bytes, p.align)).collect();
    CallLayout { returns: sizes(&function.returns), arguments: sizes(&function.parameters) }
}

/// Where each of a kernel's parameters lies among them, and where they end.
pub(super) fn parameter_offsets(function: &Function) -> (Vec<u32>, u32) {
    let mut end = 0_u32;
    let places = function.parameters.iter().map(|parameter| {
        let place = end.next_multiple_of(parameter.align.max(1));
        end = place + parameter.bytes;
        place
    });
    (places.collect(), end)
}

struct Lowering<'m> {
    setting: &'m Setting<'m>,
    function: &'m Function,
    live: &'m Live,
    places: Places,
    /// How often each register is read, the guards included.
    read_counts: Vec<u32>,
    meter: Meter<'m>,
    /// Offsets of parameters: in the kernel's, or in the function's part of local memory.
    parameters: Vec<u64>,
    parameter_end: u64,
    locals: Vec<u64>,
    local_bytes: u64,
    /// Offsets of what is declared for calls, from the end of the function's part of local memory.
    arguments: Vec<Option<u64>>,
    /// Bytes of the largest call's passing.
    passed: u64,
}

impl<'m> Lowering<'m> {
    fn new(
        setting: &'m Setting<'m>,
        function: &'m Function,
        live: &'m Live,
        places: Places,
    ) -> Result<Self, Error> {
        let registers = function.body.registers.len();
        let (parameters, parameter_end, mut end) = if function.entry {
            let (places, end) = parameter_offsets(function);
            (places.into_iter().map(u64::from).collect(), u64::from(end), 0)
        } else {
            let (places, end) = offsets(&layout_of(function));
            (places, end, end)
        };
        let locals = function.body.locals.iter().map(|local| {
            let place = end.next_multiple_of(local.align.max(1));
            end = place + local.bytes;
            place
        });
        let locals = locals.collect();
        let local_bytes = end.next_multiple_of(16);
        if local_bytes > MAX_LOCAL {
            let what = format!("{local_bytes} bytes of local memory where {MAX_LOCAL} are the most");
            return Err(Error::new(what, function.line, &function.name));
        }
        let mut lowering = Self {
            setting,
            function,
            live,
            places,
            read_counts: vec![0; registers],
            meter: Meter::new(setting.costs, registers),
            parameters,
            parameter_end,
            locals,
            local_bytes,
            arguments: Vec::new(),
            passed: 16,
        };
        lowering.place_arguments()?;
        Ok(lowering)
    }

    /// Finds for each variable declared for a call the call that it belongs to.
    fn place_arguments(&mut self) -> Result<(), Error> {
        for instruction in &self.function.body.code {
            let Action::Call(call) = &instruction.action else { continue };
            let (places, end) = offsets(&call.layout);
            self.passed = self.passed.max(end);
            for (&number, place) in call.returns.iter().chain(&call.arguments).zip(places) {
                let number = number as usize;
                if self.arguments.len() <= number {
                    self.arguments.resize(number + 1, None);
                }
                if self.arguments[number].is_some_and(|other| other != place) {
                    let what = "a variable is passed to two calls at different places";
                    return Err(Error::new(what, instruction.line, &self.function.name));
                }
                self.arguments[number] = Some(place);
            }
        }
        Ok(())
    }

    fn count_reads(&mut self, flow: &Flow) {
        for block in &flow.blocks {
            for instruction in &block.code {
                usage::reads(instruction, |Reg(reg)| self.read_counts[reg as usize] += 1);
            }
            if let Some(Reg(reg)) = block.end.read() {
                self.read_counts[reg as usize] += 1;
            }
        }
    }

    fn block(&mut self, number: u32, flow: &FlowBlock) -> Result<Block, Error> {
        let scalars = self.live.at_entry(number).filter_map(|reg| match self.places.of(reg) {
            Place::Scalar(scalar) => Some(scalar),
            _ => None,
        });
        let mut block = Block {
            scalars: scalars.collect(),
            steps: Vec::new(),
            end: End::Exit,
            line: flow.line,
            reads: Vec::new(),
            accesses: Vec::new(),
            tallies: vec![self.meter.begin()],
        };
        let mut before: Option<&Instruction> = None;
        for instruction in &flow.code {
            let tally = self.meter.step(instruction);
            if self.lengthens(&mut block, before, instruction) {
                if let Some(last) = block.tallies.last_mut() {
                    *last = tally;
                }
            } else {
                let first = block.steps.len();
                self.instruction(instruction, &mut block.steps)?;
                block.tallies.resize(block.steps.len() + 1, tally);
                block.accesses.resize(block.steps.len(), AccessGroup::default());
                if let (true, Some(access)) = (is_access(&block.steps, first), block.accesses.get_mut(first))
                {
                    usage::writes(instruction, |Reg(reg)| access.brings.push(reg));
                    access.end = first as u32 + 1;
                }
            }
            let step = block.steps.len().saturating_sub(1) as u32;
            usage::reads(instruction, |Reg(reg)| block.reads.push((reg, step)));
            before = Some(instruction);
        }
        if let Some(Reg(reg)) = flow.end.read() {
            block.reads.push((reg, block.steps.len() as u32));
        }
        block.reads.sort_unstable();
        block.reads.dedup();
        group(&mut block);
        block.tallies.push(self.meter.end(&flow.end));
        block.end = self.end(&flow.end);
        Ok(block)
    }

    fn end(&self, end: &FlowEnd) -> End {
        match end {
            FlowEnd::Jump(to) => End::Jump(*to),
            FlowEnd::Branch { guard, to, other } => End::Branch {
                predicate: Value::At(self.places.of(guard.register)),
                negated: guard.negated,
                to: *to,
                other: *other,
            },
            FlowEnd::Index { index, to } => End::Index { index: self.value(*index), to: to.clone() },
            FlowEnd::Call { call, next } => {
                let callee = call.callee.map_err(|reg| Value::At(self.places.of(reg)));
                End::Call { callee, layout: call.layout.clone(), next: *next }
            }
            FlowEnd::Return => End::Return,
            FlowEnd::Exit => End::Exit,
            FlowEnd::Trap => End::Trap,
        }
    }

    fn value(&self, source: Source) -> Value {
        match source {
            Source::Reg(reg) => Value::At(self.places.of(reg)),
            Source::Bits(bits) => Value::Bits(bits),
        }
    }

    fn instruction(&self, instruction: &Instruction, steps: &mut Vec<Step>) -> Result<(), Error> {
        let guard = instruction.guard.map(|g| (Value::At(self.places.of(g.register)), g.negated));
        let line = instruction.line;
        let mut push = |what| steps.push(Step { what, guard, line });
        let place = |reg: &Reg| self.places.of(*reg);
        match &instruction.action {
            Action::Alu { op, to, from } => {
                push(What::Alu { op: *op, to: place(to), from: from.map(|source| self.value(source)) });
            }
            Action::AddressOf { to, address, generic } => {
                let what = self.address_of(*to, *address, *generic);
                push(what);
            }
            Action::Convert { to, from, space, back } => {
                let what = self.convert(*to, *from, *space, *back);
                push(what);
            }
            Action::ReadSpecial { to, special } if usage::reads_clock(*special) => {
                push(What::Clock { to: place(to), special: *special });
            }
            Action::ReadSpecial { to, special } => push(What::Special { to: place(to), special: *special }),
            Action::Load { space, kind, to, address, .. } => {
                let to: Vec<Option<Place>> = to.iter().map(|reg| reg.as_ref().map(place)).collect();
                match (address.base, self.function.entry) {
                    (Base::Parameter(number), true) => {
                        let start = self.parameters[number as usize] as i64 + address.offset;
                        let end = start + i64::from(kind.bytes) * to.len() as i64;
                        if start < 0 || end > self.parameter_end as i64 {
                            return Err(Error::new(
                                "a load beyond the parameters",
                                line,
                                &self.function.name,
                            ));
                        }
                        for (k, to) in to.into_iter().enumerate() {
                            if let Some(to) = to {
                                push(What::Parameter {
                                    to,
                                    kind: *kind,
                                    offset: start as u32 + kind.bytes * k as u32,
                                });
                            }
                        }
                    }
                    _ => {
                        let (space, at) = self.at(*space, *address);
                        push(What::Load { space, kind: *kind, to, at });
                    }
                }
            }
            Action::Store { space, kind, from, address } => {
                let (space, at) = self.at(*space, *address);
                let from = from.iter().map(|source| self.value(*source)).collect();
                push(What::Store { space, kind: *kind, from, at });
            }
            Action::Atomic { op, space, bytes, to, address, from } => {
                let (space, at) = self.at(*space, *address);
                let from = from.map(|source| self.value(source));
                push(What::Atomic {
                    op: *op,
                    space,
                    bytes: *bytes,
                    to: to.as_ref().map(|reg| self.places.of(*reg)),
                    at,
                    from,
                });
            }
            Action::Barrier { id, count, reduce, arrive } => push(What::Barrier {
                id: self.value(*id),
                count: count.map(|count| self.value(count)),
                reduce: reduce.as_ref().map(|reduce| Reduce {
                    mode: reduce.mode,
                    to: place(&reduce.to),
                    predicate: self.value(reduce.predicate),
                    negated: reduce.negated,
                }),
                arrive: *arrive,
            }),
            Action::WarpBarrier { members } => push(What::WarpBarrier { members: self.value(*members) }),
            Action::Shuffle { mode, to, valid, from } => push(What::Shuffle {
                mode: *mode,
                to: place(to),
                valid: valid.as_ref().map(place),
                from: from.map(|source| self.value(source)),
            }),
            Action::Vote { mode, to, predicate, negated, members } => push(What::Vote {
                mode: *mode,
                to: place(to),
                predicate: self.value(*predicate),
                negated: *negated,
                members: self.value(*members),
            }),
            Action::ActiveMask { to } => push(What::ActiveMask { to: place(to) }),
            Action::Fence => push(What::Fence),
            Action::Trigger => push(What::Trigger),
            Action::Wait => push(What::Wait),
            // These end a block, and are not among its instructions.
            Action::Branch { .. }
            | Action::BranchIndexed { .. }
            | Action::Call(_)
            | Action::Return
            | Action::Exit
            | Action::Trap => {}
        }
        Ok(())
    }

    fn kind(&self, reg: Reg) -> Kind {
        self.function.body.registers[reg.0 as usize]
    }
}

/// The most local memory that a thread may have.
const MAX_LOCAL: u64 = 512 << 10;
