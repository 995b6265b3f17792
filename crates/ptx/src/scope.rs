//! What a name means at one place in a function: registers, variables, parameters, with braces as scopes.

use std::collections::HashMap;

use super::instruction::{Base, Reg};
use super::op::Kind;

/// The names of one function.
#[derive(Default)]
pub(super) struct Scope<'a> {
    levels: Vec<Level<'a>>,
    /// The kind of each register that was used, by its number.
    pub(super) registers: Vec<Kind>,
    carry: Option<Reg>,
}

#[derive(Default)]
struct Level<'a> {
    /// Single names, and families `%r<9>` by their prefix with the count.
    declared: HashMap<&'a str, (Kind, Option<u32>)>,
    used: HashMap<&'a str, Reg>,
    places: HashMap<&'a str, Base>,
}

impl<'a> Scope<'a> {
    pub(super) fn new() -> Self {
        Self { levels: vec![Level::default()], ..Self::default() }
    }

    pub(super) fn open(&mut self) {
        self.levels.push(Level::default());
    }

    /// Closes the innermost scope; false when it is the function itself.
    pub(super) fn close(&mut self) -> bool {
        self.levels.pop();
        !self.levels.is_empty()
    }

    /// How many scopes are open, the function's included.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Declares one register, or a family of `count`, in the innermost scope.
    pub(super) fn declare(&mut self, name: &'a str, kind: Kind, count: Option<u32>) {
        if let Some(level) = self.levels.last_mut() {
            level.used.remove(name);
            level.declared.insert(name, (kind, count));
        }
    }

    /// Declares what an address can be counted from.
    pub(super) fn place(&mut self, name: &'a str, base: Base) {
        if let Some(level) = self.levels.last_mut() {
            level.places.insert(name, base);
        }
    }

    /// Declares it for the whole function.
    pub(super) fn place_outermost(&mut self, name: &'a str, base: Base) {
        if let Some(level) = self.levels.first_mut() {
            level.places.insert(name, base);
        }
    }

    /// What an address can be counted from, by name.
    pub(super) fn find_place(&self, name: &str) -> Option<Base> {
        self.levels.iter().rev().find_map(|level| level.places.get(name).copied())
    }

    /// The register of that name, which gets its number when it is first used.
    pub(super) fn register(&mut self, name: &'a str) -> Option<(Reg, Kind)> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        for level in self.levels.iter_mut().rev() {
            if let Some(&reg) = level.used.get(name) {
                return Some((reg, self.registers[reg.0 as usize]));
            }
            let single = level.declared.get(name).filter(|(_, count)| count.is_none());
            let family = || {
                let family = level.declared.get(prefix)?;
                let canonical = !(number.len() > 1 && number.starts_with('0'));
                let number: u32 = number.parse().ok()?;
                (canonical && number < family.1?).then_some(family)
            };
            if let Some(&(kind, _)) = single.or_else(family) {
                let reg = Reg(self.registers.len() as u32);
                self.registers.push(kind);
                level.used.insert(name, reg);
                return Some((reg, kind));
            }
        }
        None
    }

    /// A register that the text does not name.
    pub(super) fn fresh(&mut self, kind: Kind) -> Reg {
        self.registers.push(kind);
        Reg(self.registers.len() as u32 - 1)
    }

    /// The carry flag of `add.cc` and its like.
    pub(super) fn carry(&mut self) -> Reg {
        if let Some(reg) = self.carry {
            return reg;
        }
        let reg = self.fresh(Kind::Predicate);
        self.carry = Some(reg);
        reg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_numbered_as_they_are_used() {
        let mut scope = Scope::new();
        scope.declare("%r", Kind::Word, Some(4_000_000_000));
        scope.declare("%SP", Kind::Double, None);
        assert_eq!(scope.register("%r3999999999"), Some((Reg(0), Kind::Word)));
        assert_eq!(scope.register("%SP"), Some((Reg(1), Kind::Double)));
        assert_eq!(scope.register("%r3999999999"), Some((Reg(0), Kind::Word)));
        for unknown in ["%r4000000000", "%r", "%r01", "%q1", "%SP1"] {
            assert_eq!(scope.register(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn an_inner_scope_hides_and_ends() {
        let mut scope = Scope::new();
        scope.declare("p", Kind::Predicate, None);
        let outer = scope.register("p");
        scope.open();
        scope.declare("p", Kind::Word, None);
        let inner = scope.register("p");
        assert_ne!(outer, inner);
        assert_eq!(inner.map(|(_, kind)| kind), Some(Kind::Word));
        assert!(scope.close());
        assert_eq!(scope.register("p"), outer);
        assert!(!scope.close());
    }
}
