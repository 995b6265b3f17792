//! Operands as they are written, before it is known what the instruction makes of them.

use super::error::Error;
use super::lexer::{Lexer, Token};
use super::number::Literal;

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand<'a> {
    /// A register, a variable, a label, a special register.
    Name(&'a str),
    /// A predicate with `!` in front.
    Not(&'a str),
    /// A register and a predicate: `%r1|%p1`.
    Pair(&'a str, &'a str),
    /// A variable and what is added to it.
    Offset(&'a str, i64),
    /// A constant.
    Number(Literal),
    /// `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// `[a + 4]`; without a name the number is the address.
    Address(Option<&'a str>, i64),
    /// `(a, b)`, of a call.
    Group(Vec<Operand<'a>>),
}

/// The most elements a vector or a list has.
const MAX_ELEMENTS: usize = 255;

/// Reads operands up to the semicolon, and takes it.
pub(super) fn read_all<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<Operand<'a>>, Error> {
    let mut operands = Vec::new();
    if lexer.takes(b';')? {
        return Ok(operands);
    }
    loop {
        operands.push(read(lexer)?);
        if lexer.takes(b';')? {
            return Ok(operands);
        }
        lexer.expect(b',')?;
        if operands.len() > MAX_ELEMENTS {
            return Err(lexer.wrong("more operands than any instruction has"));
        }
    }
}

fn read<'a>(lexer: &mut Lexer<'a>) -> Result<Operand<'a>, Error> {
    if lexer.takes(b'{')? {
        return Ok(Operand::Vector(list(lexer, b'}')?));
    }
    if lexer.takes(b'(')? {
        return Ok(Operand::Group(list(lexer, b')')?));
    }
    if lexer.takes(b'[')? {
        let address = match lexer.peek()? {
            Token::Word(word) if Literal::read(word).is_none() => {
                lexer.next()?;
                Operand::Address(Some(word), offset(lexer)?)
            }
            _ => match number(lexer)? {
                Literal::Integer(address) => Operand::Address(None, address as i64),
                _ => return Err(lexer.wrong("an address is an integer")),
            },
        };
        lexer.expect(b']')?;
        return Ok(address);
    }
    single(lexer)
}

fn list<'a>(lexer: &mut Lexer<'a>, end: u8) -> Result<Vec<Operand<'a>>, Error> {
    let mut operands = Vec::new();
    while !lexer.takes(end)? {
        if !operands.is_empty() {
            lexer.expect(b',')?;
        }
        operands.push(single(lexer)?);
        if operands.len() > MAX_ELEMENTS {
            return Err(lexer.wrong("more elements than any list has"));
        }
    }
    Ok(operands)
}

fn single<'a>(lexer: &mut Lexer<'a>) -> Result<Operand<'a>, Error> {
    if lexer.takes(b'!')? {
        return Ok(Operand::Not(lexer.word("a predicate")?));
    }
    let name = match lexer.peek()? {
        Token::Word(word) if Literal::read(word).is_none() => word,
        _ => return Ok(Operand::Number(number(lexer)?)),
    };
    lexer.next()?;
    if lexer.takes(b'|')? {
        return Ok(Operand::Pair(name, lexer.word("a predicate")?));
    }
    Ok(match offset(lexer)? {
        0 => Operand::Name(name),
        offset => Operand::Offset(name, offset),
    })
}

/// What is added to a name: nothing, `+4`, `+-4` or `-4`.
fn offset(lexer: &mut Lexer<'_>) -> Result<i64, Error> {
    if !lexer.takes(b'+')? && lexer.peek()? != Token::Mark(b'-') {
        return Ok(0);
    }
    match number(lexer)? {
        Literal::Integer(offset) => Ok(offset as i64),
        _ => Err(lexer.wrong("an offset is an integer")),
    }
}

/// A number with its sign.
pub(super) fn number(lexer: &mut Lexer<'_>) -> Result<Literal, Error> {
    let negative = lexer.takes(b'-')?;
    let literal = match lexer.peek()? {
        Token::Word(word) => Literal::read(word),
        _ => None,
    };
    let literal = literal.ok_or_else(|| lexer.wrong("an operand is missing or no number"))?;
    lexer.next()?;
    Ok(if negative { literal.negated() } else { literal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_operand() {
        use Operand::{Address, Group, Name, Not, Number, Offset, Pair, Vector};
        let text = "%r1, -1, [%rd1+-8], [x], [16], {%r1, 0f00000000}, (a, b), %r1|%p1, !%p2, x+4, ();";
        assert_eq!(
            read_all(&mut Lexer::new(text)).unwrap(),
            [
                Name("%r1"),
                Number(Literal::Integer(u64::MAX)),
                Address(Some("%rd1"), -8),
                Address(Some("x"), 0),
                Address(None, 16),
                Vector(vec![Name("%r1"), Number(Literal::Single(0))]),
                Group(vec![Name("a"), Name("b")]),
                Pair("%r1", "%p1"),
                Not("%p2"),
                Offset("x", 4),
                Group(vec![]),
            ]
        );
        assert_eq!(read_all(&mut Lexer::new(";")).unwrap(), []);
    }

    #[test]
    fn what_is_no_operand_is_an_error() {
        for text in ["a b;", "a,;", "[a;", "[0f3F800000];", "{a, {b}};", "-x;", "a+;", "a", &"a,".repeat(300)]
        {
            assert!(read_all(&mut Lexer::new(text)).is_err(), "{text}");
        }
    }
}
