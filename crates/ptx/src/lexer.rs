//! Text to words and marks. Nothing is copied; the only memory is the text's own.

use super::error::Error;

/// The smallest part of a text that has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, a number, an instruction with its modifiers, a directive: letters, digits, `_`, `$`, `%`, `.`, `::`.
    Word(&'a str),
    /// What stands between quotation marks.
    Text(&'a str),
    /// Any other character.
    Mark(u8),
    /// The text is over.
    End,
}

/// Reads tokens one by one, and knows the line.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// The line of the token that was taken last.
    taken: u32,
    ahead: Option<(Token<'a>, u32)>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, taken: 1, ahead: None }
    }

    /// The line of the next token.
    pub(super) fn line(&mut self) -> Result<u32, Error> {
        self.peek()?;
        Ok(self.ahead.map_or(self.line, |(_, line)| line))
    }

    /// The next token, left in place.
    pub(super) fn peek(&mut self) -> Result<Token<'a>, Error> {
        if let Some((token, _)) = self.ahead {
            return Ok(token);
        }
        let token = self.scan()?;
        self.ahead = Some((token, self.line));
        Ok(token)
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token<'a>, Error> {
        let token = self.peek()?;
        self.take();
        Ok(token)
    }

    fn take(&mut self) {
        self.taken = self.line;
        self.ahead = None;
    }

    /// Takes the mark if it comes next.
    pub(super) fn takes(&mut self, mark: u8) -> Result<bool, Error> {
        let found = self.peek()? == Token::Mark(mark);
        if found {
            self.take();
        }
        Ok(found)
    }

    /// Takes the mark, which must come next.
    pub(super) fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.takes(mark)? {
            return Ok(());
        }
        Err(self.wrong(&format!("`{}` is missing", mark as char)))
    }

    /// Takes a word, which must come next.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        match self.peek()? {
            Token::Word(word) => {
                self.take();
                Ok(word)
            }
            _ => Err(self.wrong(&format!("{what} is missing"))),
        }
    }

    /// An error at the next token.
    pub(super) fn wrong(&mut self, what: &str) -> Error {
        let line = self.ahead.map_or(self.line, |(_, line)| line);
        Error::new(what, line, line_of(self.text, line))
    }

    /// An error at a line that was passed.
    pub(super) fn wrong_at(&self, what: impl Into<String>, line: u32) -> Error {
        Error::new(what, line, line_of(self.text, line))
    }

    /// Skips what is left of the line of the last token.
    pub(super) fn skip_line(&mut self) {
        if let Some((token, line)) = self.ahead {
            // What was looked at may stand on a later line: then nothing of this one is left.
            if line > self.taken || token == Token::End {
                return;
            }
            self.ahead = None;
        }
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    /// Skips from an opening brace, which was taken, to its end.
    pub(super) fn skip_braces(&mut self) -> Result<(), Error> {
        let mut depth = 1_u32;
        while depth > 0 {
            match self.next()? {
                Token::Mark(b'{') => depth += 1,
                Token::Mark(b'}') => depth -= 1,
                Token::End => return Err(self.wrong("`}` is missing")),
                _ => {}
            }
        }
        Ok(())
    }

    fn scan(&mut self) -> Result<Token<'a>, Error> {
        self.skip_blank()?;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let Some(&first) = bytes.get(start) else { return Ok(Token::End) };
        if is_word(first) {
            let mut end = start + 1;
            loop {
                match bytes.get(end) {
                    Some(&byte) if is_word(byte) => end += 1,
                    Some(b':') if bytes.get(end + 1) == Some(&b':') => end += 2,
                    _ => break,
                }
            }
            self.at = end;
            return Ok(Token::Word(&self.text[start..end]));
        }
        if first == b'"' {
            let length = bytes[start + 1..].iter().position(|&byte| byte == b'"' || byte == b'\n');
            let Some(length) = length.filter(|length| bytes[start + 1 + length] == b'"') else {
                return Err(Error::new(
                    "a quotation mark is missing",
                    self.line,
                    line_of(self.text, self.line),
                ));
            };
            self.at = start + length + 2;
            return Ok(Token::Text(&self.text[start + 1..start + 1 + length]));
        }
        if !first.is_ascii_graphic() {
            return Err(Error::new(
                "a character that PTX does not have",
                self.line,
                line_of(self.text, self.line),
            ));
        }
        self.at = start + 1;
        Ok(Token::Mark(first))
    }

    fn skip_blank(&mut self) -> Result<(), Error> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\n') => {
                    self.line += 1;
                    self.at += 1;
                }
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'/') => {
                    let rest = &bytes[self.at..];
                    self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'*') => {
                    let Some(length) = self.text[self.at + 2..].find("*/") else {
                        return Err(Error::new(
                            "a comment has no end",
                            self.line,
                            line_of(self.text, self.line),
                        ));
                    };
                    let comment = &bytes[self.at..self.at + 2 + length];
                    self.line += comment.iter().filter(|&&byte| byte == b'\n').count() as u32;
                    self.at += length + 4;
                }
                _ => return Ok(()),
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

fn line_of(text: &str, line: u32) -> &str {
    text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Token<'_>, u32)> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            let line = lexer.line().unwrap();
            match lexer.next().unwrap() {
                Token::End => return found,
                token => found.push((token, line)),
            }
        }
    }

    #[test]
    fn words_marks_comments_and_lines() {
        use Token::{Mark, Text, Word};
        assert_eq!(
            tokens("@!%p1 ld.shared::cta.b32 // x\n/* two\nlines */ [a+-4];\n\"q\" L:"),
            [
                (Mark(b'@'), 1),
                (Mark(b'!'), 1),
                (Word("%p1"), 1),
                (Word("ld.shared::cta.b32"), 1),
                (Mark(b'['), 3),
                (Word("a"), 3),
                (Mark(b'+'), 3),
                (Mark(b'-'), 3),
                (Word("4"), 3),
                (Mark(b']'), 3),
                (Mark(b';'), 3),
                (Text("q"), 4),
                (Word("L"), 4),
                (Mark(b':'), 4),
            ]
        );
    }

    #[test]
    fn a_line_can_be_skipped_whatever_was_looked_at() {
        let mut lexer = Lexer::new(".loc 1 2 3, x\nadd");
        assert_eq!(lexer.next().unwrap(), Token::Word(".loc"));
        lexer.skip_line();
        assert_eq!(lexer.next().unwrap(), Token::Word("add"));
        let mut lexer = Lexer::new(".loc\nadd");
        lexer.next().unwrap();
        assert_eq!(lexer.peek().unwrap(), Token::Word("add"));
        lexer.skip_line();
        assert_eq!(lexer.next().unwrap(), Token::Word("add"));
    }

    #[test]
    fn what_does_not_end_is_an_error_with_its_line() {
        for (text, line) in [("\n/* x", 2), ("\"x\n\"", 1), ("\n\nx {", 3), ("\u{e9}", 1)] {
            let mut lexer = Lexer::new(text);
            let error = loop {
                match lexer.next() {
                    Ok(Token::Mark(b'{')) => break lexer.skip_braces().unwrap_err(),
                    Ok(token) => assert_ne!(token, Token::End, "{text}"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}
