//! Where things lie: variables, parameters, local memory, and what is passed to functions.

use ptx::op::{Alu, IntOp, IntType, Kind};
use ptx::{Address, Base, Reg, Source, Space, Target};

use super::Lowering;
use crate::exec::step::{At, Value, What};
use crate::memory::window;

impl Lowering<'_> {
    fn constant(&self, to: Reg, bits: u64) -> What {
        let op = Alu::Move(self.kind(to));
        What::Alu { op, to: self.places.of(to), from: [Value::Bits(bits); 4] }
    }

    pub(super) fn address_of(&self, to: Reg, address: Address, generic: bool) -> What {
        let offset = address.offset as u64;
        let window = |window| if generic { window } else { 0 };
        match address.base {
            Base::Module(Target::Function(number)) => self.constant(to, window::function_address(number)),
            Base::Module(Target::Variable(number)) => {
                let base = self.variable(number);
                let shared = self.setting.module.variables[number as usize].space == Space::Shared;
                let start = if shared { window(window::SHARED) } else { 0 };
                self.constant(to, start + base.wrapping_add(offset))
            }
            Base::Parameter(number) if self.function.entry => {
                let start = window(window::PARAMETER) + self.parameters[number as usize];
                self.constant(to, start.wrapping_add(offset))
            }
            base => {
                let offset = self.in_frame(base).wrapping_add(offset);
                What::LocalAddress { to: self.places.of(to), offset, generic }
            }
        }
    }

    /// The address of a variable of the module.
    fn variable(&self, number: u32) -> u64 {
        self.setting.addresses[number as usize]
    }

    /// Where something lies in the function's part of local memory, or from its end on.
    fn in_frame(&self, base: Base) -> u64 {
        let returns = self.function.returns.len();
        match base {
            Base::Local(number) => self.locals[number as usize],
            Base::Return(number) => self.parameters[number as usize],
            Base::Parameter(number) => self.parameters[returns + number as usize],
            Base::Argument(number) => {
                // One that no call takes gets a place of its own, where nothing is lost.
                let place = self.arguments.get(number as usize).copied().flatten().unwrap_or(0);
                self.local_bytes + place
            }
            Base::Zero | Base::Reg(_) | Base::Module(_) => 0,
        }
    }

    pub(super) fn convert(&self, to: Reg, from: Source, space: Space, back: bool) -> What {
        let start = match space {
            Space::Shared => window::SHARED,
            Space::Local => window::LOCAL,
            Space::Parameter if self.function.entry => window::PARAMETER,
            Space::Parameter => window::LOCAL,
            _ => 0,
        };
        let (from, to) = (self.value(from), self.places.of(to));
        let zero = Value::Bits(0);
        if start == 0 {
            return What::Alu { op: Alu::Move(Kind::Double), to, from: [from, zero, zero, zero] };
        }
        let op = if back { IntOp::Sub } else { IntOp::Add };
        What::Alu { op: Alu::Int(op, IntType::U64), to, from: [from, Value::Bits(start), zero, zero] }
    }

    /// The space and the address of an access.
    pub(super) fn at(&self, space: Space, address: Address) -> (Space, At) {
        let offset = address.offset;
        let fixed = |bits: u64| At { base: Value::Bits(bits), narrow: false, offset, in_frame: false };
        match address.base {
            Base::Zero => (space, fixed(0)),
            Base::Reg(reg) => {
                let base = Value::At(self.places.of(reg));
                let narrow = self.kind(reg) != Kind::Double;
                let space = match space {
                    Space::Parameter if !self.function.entry => Space::Local,
                    space => space,
                };
                (space, At { base, narrow, offset, in_frame: false })
            }
            Base::Module(Target::Function(number)) => (space, fixed(window::function_address(number))),
            Base::Module(Target::Variable(number)) => {
                let base = self.variable(number);
                (self.setting.module.variables[number as usize].space, fixed(base))
            }
            Base::Parameter(number) if self.function.entry => {
                (Space::Parameter, fixed(self.parameters[number as usize]))
            }
            base => {
                let at = At { base: Value::Bits(self.in_frame(base)), narrow: false, offset, in_frame: true };
                (Space::Local, at)
            }
        }
    }
}
