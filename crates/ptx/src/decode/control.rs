//! Jumps, calls, barriers, and what a warp does together.

use std::sync::Arc;

use super::{Decoder, Refusal};
use crate::action::{Action, Call, CallLayout, Reduce, Vote};
use crate::forms::Make;
use crate::instruction::{Base, Source, Target};
use crate::op::Kind;
use crate::operand::Operand;

/// What can be resolved only when the whole function has been read.
#[derive(Default)]
pub(crate) struct Pending<'a> {
    /// The scope that is open, of [`Pending::parents`].
    pub scope: u32,
    /// The scope around each scope; the first is the function.
    pub parents: Vec<u32>,
    /// Jumps: the instruction, the label, the scope it is named in.
    pub jumps: Vec<(usize, &'a str, u32)>,
    /// Indexed jumps: the instruction, the list of labels, the scope.
    pub tables: Vec<(usize, &'a str, u32)>,
    /// Variables declared for calls: bytes and alignment.
    pub arguments: Vec<(u32, u32)>,
}

/// The parts of a call as they are written.
struct CallSite<'o, 'a> {
    returns: &'o [Operand<'a>],
    callee: &'o Operand<'a>,
    arguments: &'o [Operand<'a>],
}

impl<'a> Decoder<'_, 'a> {
    pub(super) fn control(
        &mut self,
        make: Make,
        opcode: &str,
        operands: &[Operand<'a>],
    ) -> Result<(), Refusal> {
        match make {
            Make::Branch => self.branch(operands),
            Make::BranchIndexed => self.branch_indexed(operands),
            Make::Call => self.call(operands),
            Make::Barrier => self.barrier(operands, false),
            Make::BarrierArrive => self.barrier(operands, true),
            Make::BarrierReduce(mode) => self.barrier_reduce(mode, operands),
            Make::WarpBarrier => {
                let [members] = operands else { return Err("one operand belongs here".to_owned()) };
                let members = self.source(members, Kind::Word)?;
                self.push(Action::WarpBarrier { members });
                Ok(())
            }
            Make::Shuffle(mode) => {
                let [to, a, b, c, members] = operands else {
                    return Err("five operands belong here".to_owned());
                };
                let mut from = [Source::Bits(0); 4];
                for (value, operand) in from.iter_mut().zip([a, b, c, members]) {
                    *value = self.source(operand, Kind::Word)?;
                }
                let (to, valid) = match to {
                    Operand::Pair(to, valid) => {
                        let valid = self.register_or_none(&Operand::Name(valid), Kind::Predicate)?;
                        (Operand::Name(to), valid)
                    }
                    to => (to.clone(), None),
                };
                let to = self.register(&to, Kind::Word)?;
                self.push(Action::Shuffle { mode, to, valid, from });
                Ok(())
            }
            Make::Vote(mode) => {
                let [to, predicate, members] = operands else {
                    return Err("three operands belong here".to_owned());
                };
                let to =
                    self.register(to, if mode == Vote::Ballot { Kind::Word } else { Kind::Predicate })?;
                let (predicate, negated) = self.predicate(predicate)?;
                let members = self.source(members, Kind::Word)?;
                self.push(Action::Vote { mode, to, predicate, negated, members });
                Ok(())
            }
            Make::ActiveMask => {
                let [to] = operands else { return Err("one operand belongs here".to_owned()) };
                let to = self.register(to, Kind::Word)?;
                self.push(Action::ActiveMask { to });
                Ok(())
            }
            Make::Fence => self.bare(Action::Fence, operands),
            Make::Return => self.bare(Action::Return, operands),
            Make::Exit => self.bare(Action::Exit, operands),
            Make::Trap => self.bare(Action::Trap, operands),
            Make::Trigger => self.bare(Action::Trigger, operands),
            Make::Wait => self.bare(Action::Wait, operands),
            _ => Err(format!("instruction `{opcode}` is not supported")),
        }
    }

    fn bare(&mut self, action: Action, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        if !operands.is_empty() {
            return Err("no operands belong here".to_owned());
        }
        self.push(action);
        Ok(())
    }

    fn branch(&mut self, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [Operand::Name(label)] = operands else { return Err("a branch has one label".to_owned()) };
        self.pending.jumps.push((self.code.len(), label, self.pending.scope));
        self.push(Action::Branch { to: 0 });
        Ok(())
    }

    fn branch_indexed(&mut self, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [index, Operand::Name(table)] = operands else {
            return Err("brx.idx has an index and a list of labels".to_owned());
        };
        let index = self.source(index, Kind::Word)?;
        self.pending.tables.push((self.code.len(), table, self.pending.scope));
        self.push(Action::BranchIndexed { index, to: Arc::new([]) });
        Ok(())
    }

    fn call(&mut self, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let (returns, rest): (&[Operand<'a>], _) = match operands {
            [Operand::Group(returns), rest @ ..] => (returns, rest),
            rest => (&[], rest),
        };
        let site = match rest {
            [callee] => CallSite { returns, callee, arguments: &[] },
            [callee, Operand::Group(arguments)] | [callee, Operand::Group(arguments), Operand::Name(_)] => {
                CallSite { returns, callee, arguments }
            }
            _ => return Err("a call is (returned), function, (arguments)".to_owned()),
        };
        let Operand::Name(name) = site.callee else { return Err("a function is missing".to_owned()) };
        let callee = match self.scope.register(name) {
            Some((reg, Kind::Double)) => Err(reg),
            Some(_) => return Err("a function's address has 64 bits".to_owned()),
            None => match (self.module)(name) {
                Some(Base::Module(Target::Function(function))) => Ok(function),
                _ => return Err(format!("`{name}` is no function")),
            },
        };
        let returns = self.passed(site.returns)?;
        let arguments = self.passed(site.arguments)?;
        let sizes = |list: &[u32]| list.iter().map(|&n| self.pending.arguments[n as usize]).collect();
        let layout = CallLayout { returns: sizes(&returns), arguments: sizes(&arguments) };
        self.push(Action::Call(Box::new(Call { callee, returns, arguments, layout })));
        Ok(())
    }

    fn passed(&mut self, operands: &[Operand<'a>]) -> Result<Vec<u32>, Refusal> {
        let passed = operands.iter().map(|operand| match operand {
            Operand::Name(name) => match self.scope.find_place(name) {
                Some(Base::Argument(number)) => Ok(number),
                _ => Err(format!("`{name}` is not declared as .param for a call")),
            },
            _ => Err("what is passed is declared as .param".to_owned()),
        });
        passed.collect()
    }

    fn barrier(&mut self, operands: &[Operand<'a>], arrive: bool) -> Result<(), Refusal> {
        let (id, count) = match operands {
            [id] => (id, None),
            [id, count] => (id, Some(self.source(count, Kind::Word)?)),
            _ => return Err("one or two operands belong here".to_owned()),
        };
        let id = self.source(id, Kind::Word)?;
        if arrive && count.is_none() {
            return Err("the number of threads is missing".to_owned());
        }
        self.push(Action::Barrier { id, count, reduce: None, arrive });
        Ok(())
    }

    fn barrier_reduce(&mut self, mode: Option<Vote>, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let (to, id, count, predicate) = match operands {
            [to, id, predicate] => (to, id, None, predicate),
            [to, id, count, predicate] => (to, id, Some(self.source(count, Kind::Word)?), predicate),
            _ => return Err("three or four operands belong here".to_owned()),
        };
        let to = self.register(to, if mode.is_some() { Kind::Predicate } else { Kind::Word })?;
        let id = self.source(id, Kind::Word)?;
        let (predicate, negated) = self.predicate(predicate)?;
        let reduce = Some(Reduce { mode, to, predicate, negated });
        self.push(Action::Barrier { id, count, reduce, arrive: false });
        Ok(())
    }
}
