//! The inside of a function: declarations, labels, instructions.

use std::collections::HashMap;
use std::sync::Arc;

use super::action::Action;
use super::decode::{Decoder, Pending};
use super::error::Error;
use super::instruction::{Base, Body, Guard, Space, Variable};
use super::lexer::{Lexer, Token};
use super::module::{self, Names};
use super::op::Kind;
use super::operand::{self, Operand};
use super::scope::Scope;

/// The deepest that braces may stand in each other.
const MAX_DEPTH: usize = 64;

/// What a label in one scope stands for.
#[derive(Default)]
struct Labels<'a> {
    places: HashMap<(&'a str, u32), u32>,
    tables: HashMap<(&'a str, u32), Vec<&'a str>>,
}

pub(super) struct BodyReader<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    names: &'l mut Names<'a>,
    scope: Scope<'a>,
    pending: Pending<'a>,
    labels: Labels<'a>,
    body: Body,
}

impl<'l, 'a> BodyReader<'l, 'a> {
    /// Reads from after the opening brace to the closing one. The places are the function's parameters and what it
    /// returns.
    pub(super) fn read(
        lexer: &'l mut Lexer<'a>,
        names: &'l mut Names<'a>,
        places: impl Iterator<Item = (&'a str, Base)>,
    ) -> Result<Body, Error> {
        let mut scope = Scope::new();
        for (name, base) in places {
            scope.place(name, base);
        }
        let pending = Pending { parents: vec![0], ..Pending::default() };
        let mut reader =
            Self { lexer, names, scope, pending, labels: Labels::default(), body: Body::default() };
        while reader.statement()? {}
        reader.resolve()?;
        reader.body.registers = reader.scope.registers;
        Ok(reader.body)
    }

    /// Reads one statement; false at the end of the function.
    fn statement(&mut self) -> Result<bool, Error> {
        let line = self.lexer.line()?;
        let word = match self.lexer.next()? {
            Token::Mark(b'{') => {
                if self.scope.depth() >= MAX_DEPTH {
                    return Err(self.lexer.wrong_at("braces stand too deep in each other", line));
                }
                self.scope.open();
                self.pending.parents.push(self.pending.scope);
                self.pending.scope = self.pending.parents.len() as u32 - 1;
                return Ok(true);
            }
            Token::Mark(b'}') => {
                self.pending.scope = self.pending.parents[self.pending.scope as usize];
                return Ok(self.scope.close());
            }
            Token::Mark(b';') => return Ok(true),
            Token::Mark(b'@') => {
                let negated = self.lexer.takes(b'!')?;
                let name = self.lexer.word("a predicate")?;
                let Some((register, Kind::Predicate)) = self.scope.register(name) else {
                    return Err(self.lexer.wrong_at(format!("`{name}` is no predicate"), line));
                };
                let opcode = self.lexer.word("an instruction")?;
                self.instruction(opcode, Some(Guard { register, negated }), line)?;
                return Ok(true);
            }
            Token::Word(word) => word,
            Token::End => return Err(self.lexer.wrong_at("`}` is missing at the end of a function", line)),
            Token::Mark(_) | Token::Text(_) => {
                return Err(self.lexer.wrong_at("an instruction or a declaration belongs here", line));
            }
        };
        if word.starts_with('.') {
            self.directive(word, line)?;
        } else if self.lexer.takes(b':')? {
            self.label(word, line)?;
        } else {
            self.instruction(word, None, line)?;
        }
        Ok(true)
    }

    fn instruction(&mut self, opcode: &'a str, guard: Option<Guard>, line: u32) -> Result<(), Error> {
        let operands: Vec<Operand<'a>> = operand::read_all(self.lexer)?;
        let names = &mut *self.names;
        let mut decoder = Decoder {
            scope: &mut self.scope,
            module: &mut |name| names.find(name, line).map(Base::Module),
            code: &mut self.body.code,
            pending: &mut self.pending,
            guard,
            line,
        };
        decoder.decode(opcode, &operands).map_err(|what| self.lexer.wrong_at(what, line))
    }

    fn label(&mut self, name: &'a str, line: u32) -> Result<(), Error> {
        let key = (name, self.pending.scope);
        match self.lexer.peek()? {
            Token::Word(".branchtargets") => {
                self.lexer.next()?;
                let mut targets = Vec::new();
                loop {
                    targets.push(self.lexer.word("a label")?);
                    if self.lexer.takes(b';')? {
                        break;
                    }
                    self.lexer.expect(b',')?;
                }
                self.labels.tables.insert(key, targets);
            }
            Token::Word(".callprototype") => {
                // What a call passes is declared beside it; the prototype says the same again.
                while self.lexer.next()? != Token::Mark(b';') {
                    if self.lexer.peek()? == Token::End {
                        return Err(self.lexer.wrong_at("`;` is missing", line));
                    }
                }
            }
            _ => {
                if self.labels.places.insert(key, self.body.code.len() as u32).is_some() {
                    return Err(self.lexer.wrong_at(format!("label `{name}` is there twice"), line));
                }
            }
        }
        Ok(())
    }

    fn directive(&mut self, word: &'a str, line: u32) -> Result<(), Error> {
        match word {
            ".reg" => self.registers(line),
            ".param" => {
                let (name, parameter) = module::parameter(self.lexer)?;
                self.lexer.expect(b';')?;
                let number = self.pending.arguments.len() as u32;
                self.pending.arguments.push((parameter.bytes, parameter.align));
                self.scope.place(name, Base::Argument(number));
                Ok(())
            }
            ".local" | ".shared" | ".global" | ".const" => {
                let (name, variable) = module::variable(self.lexer, self.names, word, line)?;
                if word == ".local" {
                    self.scope.place(name, Base::Local(self.body.locals.len() as u32));
                    self.body.locals.push(variable);
                } else {
                    // A variable of the whole block may be declared inside a function, each time it is inlined.
                    let target = self.names.add_inner(variable);
                    self.scope.place_outermost(name, Base::Module(target));
                }
                Ok(())
            }
            ".pragma" => {
                while self.lexer.next()? != Token::Mark(b';') {
                    if self.lexer.peek()? == Token::End {
                        return Err(self.lexer.wrong_at("`;` is missing", line));
                    }
                }
                Ok(())
            }
            ".loc" | ".file" => {
                self.lexer.skip_line();
                Ok(())
            }
            _ => Err(self.lexer.wrong_at(format!("directive `{word}` is not supported"), line)),
        }
    }

    /// `.reg .b32 %r<9>, %x;`
    fn registers(&mut self, line: u32) -> Result<(), Error> {
        let name = self.lexer.word("a type")?;
        let kind = super::decode::kind_of(name.trim_start_matches('.'));
        let kind = kind.map_err(|what| self.lexer.wrong_at(what, line))?;
        loop {
            let name = self.lexer.word("a register")?;
            let count = if self.lexer.takes(b'<')? {
                let count = self.lexer.word("a number")?.parse().ok();
                self.lexer.expect(b'>')?;
                Some(count.ok_or_else(|| self.lexer.wrong_at("a number of registers is no number", line))?)
            } else {
                None
            };
            self.scope.declare(name, kind, count);
            if self.lexer.takes(b';')? {
                return Ok(());
            }
            self.lexer.expect(b',')?;
        }
    }

    /// Gives each jump its place.
    fn resolve(&mut self) -> Result<(), Error> {
        for &(at, label, scope) in &self.pending.jumps {
            let to = self.find(&self.labels.places, label, scope).copied();
            let line = self.body.code[at].line;
            let to = to.ok_or_else(|| self.lexer.wrong_at(format!("there is no label `{label}`"), line))?;
            self.body.code[at].action = Action::Branch { to };
        }
        let mut known: HashMap<(&str, u32), Arc<[u32]>> = HashMap::new();
        for &(at, table, scope) in &self.pending.tables {
            let places = match known.get(&(table, scope)) {
                Some(places) => Arc::clone(places),
                None => self.resolve_table(table, scope, self.body.code[at].line)?,
            };
            known.insert((table, scope), Arc::clone(&places));
            if let Action::BranchIndexed { to, .. } = &mut self.body.code[at].action {
                *to = places;
            }
        }
        Ok(())
    }

    fn resolve_table(&self, table: &'a str, scope: u32, line: u32) -> Result<Arc<[u32]>, Error> {
        let wrong = |name: &str| self.lexer.wrong_at(format!("there is no label `{name}`"), line);
        let labels = self.find(&self.labels.tables, table, scope).ok_or_else(|| wrong(table))?;
        let places = labels
            .iter()
            .map(|&label| self.find(&self.labels.places, label, scope).copied().ok_or_else(|| wrong(label)));
        places.collect()
    }

    /// Looks a label up from the scope it is named in outwards.
    fn find<'m, T>(
        &self,
        map: &'m HashMap<(&'a str, u32), T>,
        label: &'a str,
        mut scope: u32,
    ) -> Option<&'m T> {
        loop {
            if let Some(found) = map.get(&(label, scope)) {
                return Some(found);
            }
            if scope == 0 {
                return None;
            }
            scope = self.pending.parents[scope as usize];
        }
    }
}

/// The space that a directive declares in.
pub(super) fn space_of(directive: &str) -> Space {
    match directive {
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".const" => Space::Constant,
        _ => Space::Global,
    }
}

/// A variable's end may not pass what an address can hold.
pub(super) fn fits(variable: &Variable) -> bool {
    variable.bytes <= 1 << 40
}
