//! The outside of functions: version, target, variables, signatures.

use std::collections::HashMap;

use super::body::{self, BodyReader};
use super::error::{Error, Reason};
use super::instruction::{Base, Body, Function, Module, Parameter, Relocation, Space, Target, Variable};
use super::lexer::{Lexer, Token};
use super::number::Literal;
use super::operand;

/// The newest PTX whose text is known: that of CUDA 13.0.
const NEWEST: (u32, u32) = (9, 0);

/// The longest text that is read.
const MAX_BYTES: usize = 64 << 20;

impl Module {
    /// Reads a text. An instruction that no form of [`FORMS`](crate::FORMS) stands for is refused, with its line.
    ///
    /// # Errors
    /// The first thing that is wrong or not supported.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut lexer = Lexer::new(text);
        if text.len() > MAX_BYTES {
            return Err(lexer.wrong("the text is too long").advise("split the module"));
        }
        let (version, target) = head(&mut lexer)?;
        let mut names = Names::default();
        while item(&mut lexer, &mut names)? {}
        names.check(&lexer)?;
        let all = names.all.into_iter().map(|(name, target)| (name.to_owned(), target)).collect();
        Ok(Self { version, target, variables: names.variables, functions: names.functions, names: all })
    }

    /// Returns the kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Function> {
        match self.names.get(name) {
            Some(&Target::Function(index)) => Some(&self.functions[index as usize]).filter(|f| f.entry),
            _ => None,
        }
    }
}

/// The module's names so far.
#[derive(Default)]
pub(super) struct Names<'a> {
    all: HashMap<&'a str, Target>,
    variables: Vec<Variable>,
    functions: Vec<Function>,
    /// For each function whether its body was read, and the line that first names it.
    states: Vec<(bool, Option<u32>)>,
}

impl<'a> Names<'a> {
    /// What the name means, noting that it is used.
    pub(super) fn find(&mut self, name: &str, line: u32) -> Option<Target> {
        let target = self.all.get(name).copied()?;
        if let Target::Function(index) = target {
            self.states[index as usize].1.get_or_insert(line);
        }
        Some(target)
    }

    /// A variable that only one function names.
    pub(super) fn add_inner(&mut self, variable: Variable) -> Target {
        self.variables.push(variable);
        Target::Variable(self.variables.len() as u32 - 1)
    }

    /// Every function that is named must have a body.
    fn check(&self, lexer: &Lexer<'_>) -> Result<(), Error> {
        let missing =
            self.states.iter().zip(&self.functions).find_map(|((defined, named), function)| {
                named.filter(|_| !defined).map(|line| (function, line))
            });
        match missing {
            Some((function, line)) => {
                Err(lexer.wrong_at(format!("function `{}` has no body", function.name), line))
            }
            None => Ok(()),
        }
    }
}

/// `.version`, `.target`, `.address_size`.
fn head(lexer: &mut Lexer<'_>) -> Result<((u32, u32), u32), Error> {
    if lexer.next()? != Token::Word(".version") {
        return Err(lexer.wrong("this is no PTX: `.version` is missing").because(Reason::NotPtx));
    }
    let line = lexer.line()?;
    let word = lexer.word("a version")?;
    let version =
        word.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let version = version.ok_or_else(|| lexer.wrong_at("the version is no version", line))?;
    if version > NEWEST {
        let what = format!("PTX version {word} is newer than {}.{}", NEWEST.0, NEWEST.1);
        return Err(lexer
            .wrong_at(what, line)
            .because(Reason::Version)
            .advise("compile for an older version"));
    }
    let line = lexer.line()?;
    if lexer.next()? != Token::Word(".target") {
        return Err(lexer.wrong_at("`.target` is missing", line));
    }
    let word = lexer.word("a target")?;
    let number = word.strip_prefix("sm_").map(|number| number.trim_end_matches(['a', 'f']));
    let target = number.and_then(|number| number.parse().ok());
    let target = target.ok_or_else(|| lexer.wrong_at(format!("`{word}` is no target"), line))?;
    while lexer.takes(b',')? {
        let option = lexer.word("an option")?;
        if option != "debug" && option != "texmode_independent" {
            return Err(lexer.wrong_at(format!("target option `{option}` is not supported"), line));
        }
    }
    if lexer.peek()? == Token::Word(".address_size") {
        lexer.next()?;
        let line = lexer.line()?;
        if lexer.word("a size")? != "64" {
            return Err(lexer.wrong_at("addresses of 64 bits are supported, no others", line));
        }
    }
    Ok((version, target))
}

/// One item of the module; false at the end.
fn item<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>) -> Result<bool, Error> {
    let line = lexer.line()?;
    let word = match lexer.next()? {
        Token::Word(word) => word,
        Token::Mark(b';') => return Ok(true),
        Token::End => return Ok(false),
        _ => return Err(lexer.wrong_at("a declaration belongs here", line)),
    };
    match word {
        ".visible" | ".weak" | ".common" | ".extern" => {}
        ".global" | ".const" | ".shared" => {
            let (name, variable) = variable(lexer, names, word, line)?;
            let target = names.add_inner(variable);
            if names.all.insert(name, target).is_some() {
                return Err(lexer.wrong_at(format!("`{name}` is there twice"), line));
            }
        }
        ".entry" | ".func" => function(lexer, names, word == ".entry", line)?,
        ".file" | ".loc" => lexer.skip_line(),
        ".section" => {
            while lexer.peek()? != Token::Mark(b'{') {
                if lexer.next()? == Token::End {
                    return Err(lexer.wrong_at("a section has no body", line));
                }
            }
            lexer.next()?;
            lexer.skip_braces()?;
        }
        ".pragma" | ".alias" => {
            if word == ".alias" {
                return Err(lexer.wrong_at("directive `.alias` is not supported", line));
            }
            while lexer.next()? != Token::Mark(b';') {
                if lexer.peek()? == Token::End {
                    return Err(lexer.wrong_at("`;` is missing", line));
                }
            }
        }
        _ => return Err(lexer.wrong_at(format!("`{word}` is not supported here"), line)),
    }
    Ok(true)
}

fn function<'a>(lexer: &mut Lexer<'a>, names: &mut Names<'a>, entry: bool, line: u32) -> Result<(), Error> {
    let returns = if lexer.peek()? == Token::Mark(b'(') { parameters(lexer)? } else { Vec::new() };
    let name = lexer.word("a function's name")?;
    let parameters = if lexer.peek()? == Token::Mark(b'(') { parameters(lexer)? } else { Vec::new() };
    let mut function = Function {
        name: name.to_owned(),
        entry,
        no_return: false,
        returns: returns.iter().map(|(_, parameter)| parameter.clone()).collect(),
        parameters: parameters.iter().map(|(_, parameter)| parameter.clone()).collect(),
        max_threads: None,
        body: Body::default(),
        line,
    };
    let has_body = loop {
        match lexer.next()? {
            Token::Mark(b';') => break false,
            Token::Mark(b'{') => break true,
            Token::Word(".noreturn") => function.no_return = true,
            Token::Word(word @ (".maxntid" | ".reqntid")) => {
                let mut threads = 1_u32;
                loop {
                    let count = lexer.word("a number of threads")?.parse().ok();
                    let product = count.and_then(|count: u32| threads.checked_mul(count));
                    threads =
                        product.ok_or_else(|| lexer.wrong_at(format!("`{word}` has no number"), line))?;
                    if !lexer.takes(b',')? {
                        break;
                    }
                }
                function.max_threads = Some(threads);
            }
            Token::Word(".minnctapersm" | ".maxnreg" | ".maxclusterrank") => {
                lexer.word("a number")?;
            }
            Token::Word(word) => {
                return Err(lexer.wrong_at(format!("`{word}` is not supported on a function"), line));
            }
            _ => return Err(lexer.wrong_at("a function's body is missing", line)),
        }
    };
    let index = match names.all.get(name) {
        None => {
            names.functions.push(Function { body: Body::default(), ..function });
            names.states.push((false, None));
            let index = names.functions.len() as u32 - 1;
            names.all.insert(name, Target::Function(index));
            index
        }
        Some(&Target::Function(index)) if !(has_body && names.states[index as usize].0) => {
            let declared = &names.functions[index as usize];
            let sizes = |list: &[Parameter]| list.iter().map(|parameter| parameter.bytes).collect::<Vec<_>>();
            if sizes(&declared.parameters) != sizes(&function.parameters)
                || sizes(&declared.returns) != sizes(&function.returns)
            {
                return Err(lexer.wrong_at(format!("`{name}` was declared with other parameters"), line));
            }
            names.functions[index as usize] = function;
            index
        }
        Some(_) => return Err(lexer.wrong_at(format!("`{name}` is there twice"), line)),
    };
    if has_body {
        names.states[index as usize].0 = true;
        let taken = parameters.iter().enumerate().map(|(k, (name, _))| (*name, Base::Parameter(k as u32)));
        let returned = returns.iter().enumerate().map(|(k, (name, _))| (*name, Base::Return(k as u32)));
        let body = BodyReader::read(lexer, names, taken.chain(returned))?;
        names.functions[index as usize].body = body;
    }
    Ok(())
}

/// `(.param .b64 a, .param .align 8 .b8 b[16])`
fn parameters<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<(&'a str, Parameter)>, Error> {
    lexer.expect(b'(')?;
    let mut list = Vec::new();
    while !lexer.takes(b')')? {
        if !list.is_empty() {
            lexer.expect(b',')?;
        }
        let line = lexer.line()?;
        let directive = lexer.word("a parameter")?;
        if directive != ".param" {
            return Err(lexer.wrong_at("a parameter is declared with `.param`", line));
        }
        list.push(parameter(lexer)?);
        if list.len() > 4096 {
            return Err(lexer.wrong_at("more parameters than a function has", line));
        }
    }
    Ok(list)
}

/// What follows `.param`.
pub(super) fn parameter<'a>(lexer: &mut Lexer<'a>) -> Result<(&'a str, Parameter), Error> {
    let line = lexer.line()?;
    let shape = Shape::read(lexer)?;
    let bytes = u32::try_from(shape.bytes()).ok().filter(|&bytes| bytes <= 32_764);
    let bytes = bytes.ok_or_else(|| lexer.wrong_at("a parameter is larger than any may be", line))?;
    Ok((shape.name, Parameter { name: shape.name.to_owned(), bytes, align: shape.align as u32 }))
}

/// What follows `.global`, `.shared`, `.const` or `.local`, and its semicolon.
pub(super) fn variable<'a>(
    lexer: &mut Lexer<'a>,
    names: &mut Names<'a>,
    directive: &str,
    line: u32,
) -> Result<(&'a str, Variable), Error> {
    let shape = Shape::read(lexer)?;
    let mut variable = Variable {
        name: shape.name.to_owned(),
        space: body::space_of(directive),
        bytes: shape.bytes(),
        align: shape.align,
        init: Vec::new(),
        relocations: Vec::new(),
        line,
    };
    if !body::fits(&variable) || (shape.count == 0 && variable.space != Space::Shared) {
        return Err(lexer.wrong_at("a variable has no size, or one that is too large", line));
    }
    if lexer.takes(b'=')? {
        if matches!(variable.space, Space::Shared | Space::Local) {
            return Err(lexer.wrong_at("shared and local variables have no first value", line));
        }
        initial(lexer, names, &shape, &mut variable)?;
    }
    lexer.expect(b';')?;
    Ok((shape.name, variable))
}

/// A declared type, name and number of elements.
struct Shape<'a> {
    name: &'a str,
    element: u64,
    align: u64,
    count: u64,
}

impl<'a> Shape<'a> {
    fn read(lexer: &mut Lexer<'a>) -> Result<Self, Error> {
        let line = lexer.line()?;
        let (mut element, mut align, mut vector) = (None, None, 1_u64);
        let name = loop {
            let word = lexer.word("a type or a name")?;
            match word {
                ".align" => {
                    let number = lexer.word("a number")?.parse().ok();
                    let number = number.filter(|n: &u64| n.is_power_of_two() && *n <= 1 << 20);
                    align =
                        Some(number.ok_or_else(|| lexer.wrong_at("the alignment is no power of two", line))?);
                }
                ".ptr" | ".global" | ".const" | ".shared" | ".local" | ".param" => {
                    // Of a kernel's pointer parameter: what it points to has this alignment, not the parameter.
                    while lexer.peek()? == Token::Word(".align")
                        || matches!(lexer.peek()?, Token::Word(".global" | ".const" | ".shared" | ".local"))
                    {
                        if lexer.next()? == Token::Word(".align") {
                            lexer.word("a number")?;
                        }
                    }
                }
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                word if word.starts_with('.') => {
                    let bits = word.get(2..).and_then(|bits| bits.parse().ok());
                    let bits = bits.filter(|bits| matches!(bits, 8 | 16 | 32 | 64 | 128));
                    element =
                        Some(bits.ok_or_else(|| lexer.wrong_at(format!("`{word}` is no type"), line))? / 8);
                }
                name => break name,
            }
        };
        let element: u64 = element.ok_or_else(|| lexer.wrong_at("a type is missing", line))?;
        let mut count = vector;
        while lexer.takes(b'[')? {
            let length = match lexer.peek()? {
                Token::Mark(b']') => 0,
                _ => match operand::number(lexer)? {
                    Literal::Integer(length) => length,
                    _ => return Err(lexer.wrong_at("a length is an integer", line)),
                },
            };
            let product = count.checked_mul(length).filter(|product| *product <= 1 << 40);
            count = product.ok_or_else(|| lexer.wrong_at("an array is too large", line))?;
            lexer.expect(b']')?;
        }
        Ok(Self { name, element, align: align.unwrap_or(element), count })
    }

    fn bytes(&self) -> u64 {
        self.element * self.count
    }
}

/// `{1, 2, generic(x)+8}`, or one value.
fn initial<'a>(
    lexer: &mut Lexer<'a>,
    names: &mut Names<'a>,
    shape: &Shape<'_>,
    variable: &mut Variable,
) -> Result<(), Error> {
    let list = lexer.takes(b'{')?;
    let line = lexer.line()?;
    while !(list && lexer.takes(b'}')?) {
        if !variable.init.is_empty() {
            lexer.expect(b',')?;
        }
        let offset = variable.init.len() as u64;
        if offset + shape.element > shape.bytes() {
            return Err(lexer.wrong_at("more values than the variable has elements", line));
        }
        let value = match lexer.peek()? {
            Token::Word(word) if Literal::read(word).is_none() => {
                lexer.next()?;
                let name = if word == "generic" {
                    lexer.expect(b'(')?;
                    let name = lexer.word("a name")?;
                    lexer.expect(b')')?;
                    name
                } else {
                    word
                };
                let addend = if lexer.takes(b'+')? { operand::number(lexer)? } else { Literal::Integer(0) };
                let target = names.find(name, line);
                let target =
                    target.ok_or_else(|| lexer.wrong_at(format!("`{name}` is not declared"), line))?;
                if shape.element != 8 {
                    return Err(lexer.wrong_at("an address has 64 bits", line));
                }
                let addend = addend.bits(64).unwrap_or_default();
                variable.relocations.push(Relocation { offset, target, addend });
                0
            }
            _ => {
                let number = operand::number(lexer)?;
                let bits = number.bits(if shape.element < 4 { 16 } else { shape.element as u32 * 8 });
                bits.ok_or_else(|| lexer.wrong_at("a value of another type", line))?
            }
        };
        let bytes = value.to_le_bytes();
        variable.init.extend((0..shape.element as usize).map(|k| bytes.get(k).copied().unwrap_or(0)));
        if !list {
            return Ok(());
        }
    }
    Ok(())
}
