//! Tokens of schema and query text, and the cursor that both parsers walk with.
//!
//! Words are not keywords here: the parsers decide by position. A run of letters and digits that begins with a digit, and a lone `-`, are
//! tokens that only the values of an enum may be made of. Invariant: the last token is `End`, and the cursor never passes it.

use std::borrow::Cow;

use crate::findings::{At, ParseFailure};
use crate::text::clip;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tok<'a> {
    /// `[A-Z][A-Za-z0-9_]*`
    Upper(&'a str),
    /// `[a-z_][A-Za-z0-9_]*`
    Lower(&'a str),
    /// The name after `$`.
    Var(&'a str),
    /// `-?[0-9]+`
    Int(&'a str),
    /// With fraction, exponent or both.
    Float(&'a str),
    /// Unescaped.
    Str(Cow<'a, str>),
    /// One of [`PUNCTUATION`].
    Punct(&'static str),
    /// Digits run into letters.
    Junk(&'a str),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) tok: Tok<'a>,
    pub(crate) at: At,
}

/// Longer ones before their prefixes.
const PUNCTUATION: [&str; 20] =
    ["->", "..", "!=", "<=", ">=", "{", "}", "(", ")", "[", "]", ":", ",", ".", "?", "@", "=", "<", ">", "-"];

/// All tokens of the text.
pub(crate) fn tokenize(text: &str) -> Result<Vec<Token<'_>>, ParseFailure> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let start = lexer.at;
        let tok = lexer.token()?;
        let last = tok == Tok::End;
        tokens.push(Token { tok, at: At { start, end: lexer.at } });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, start: usize, message: impl Into<String>, hint: Option<&'static str>) -> Result<T, ParseFailure> {
        let next = self.rest().chars().next().map_or(0, char::len_utf8);
        Err(ParseFailure { at: At { start, end: self.at + next }, message: message.into(), hint })
    }

    fn skip_blank(&mut self) -> Result<(), ParseFailure> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(body) = rest.strip_prefix("/*") {
                match body.find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return self.fail(self.at, "this comment does not end", Some("close it with */")),
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Moves over bytes that satisfy the test and returns them.
    fn take(&mut self, test: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|b| !test(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn token(&mut self) -> Result<Tok<'a>, ParseFailure> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let Some(&first) = bytes.first() else { return Ok(Tok::End) };
        match first {
            b'A'..=b'Z' => Ok(Tok::Upper(self.take(is_word))),
            b'a'..=b'z' | b'_' => Ok(Tok::Lower(self.take(is_word))),
            b'0'..=b'9' => Ok(self.number()),
            b'-' if bytes.get(1).is_some_and(u8::is_ascii_digit) => Ok(self.number()),
            b'"' => self.string(),
            b'$' => {
                self.at += 1;
                match self.rest().bytes().next() {
                    Some(b'a'..=b'z' | b'_') => Ok(Tok::Var(self.take(is_word))),
                    _ => self.fail(
                        self.at - 1,
                        "a variable name must follow `$` directly",
                        Some("variable names begin with a lower-case letter or `_`"),
                    ),
                }
            }
            _ => match PUNCTUATION.into_iter().find(|punct| rest.starts_with(punct)) {
                Some(punct) => {
                    self.at += punct.len();
                    Ok(Tok::Punct(punct))
                }
                None => {
                    let found: String = rest.chars().take(1).collect();
                    self.fail(self.at, format!("the character {found:?} is not allowed here"), None)
                }
            },
        }
    }

    fn number(&mut self) -> Tok<'a> {
        let start = self.at;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        self.take(|b| b.is_ascii_digit());
        let mut float = false;
        let digit_at = |lexer: &Self, at: usize| lexer.rest().as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        if self.rest().starts_with('.') && digit_at(self, 1) {
            float = true;
            self.at += 1;
            self.take(|b| b.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            let sign = usize::from(matches!(self.rest().as_bytes().get(1), Some(b'+' | b'-')));
            if digit_at(self, 1 + sign) {
                float = true;
                self.at += 1 + sign;
                self.take(|b| b.is_ascii_digit());
            }
        }
        if !self.take(is_word).is_empty() {
            return Tok::Junk(&self.text[start..self.at]);
        }
        let token = &self.text[start..self.at];
        if float { Tok::Float(token) } else { Tok::Int(token) }
    }

    fn string(&mut self) -> Result<Tok<'a>, ParseFailure> {
        let open = self.at;
        self.at += 1;
        let mut out = Cow::Borrowed("");
        loop {
            let plain = self.take(|b| b != b'"' && b != b'\\');
            if out.is_empty() {
                out = Cow::Borrowed(plain);
            } else {
                out.to_mut().push_str(plain);
            }
            let escaped = match self.rest().as_bytes() {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(Tok::Str(out));
                }
                [b'\\', b'"', ..] => '"',
                [b'\\', b'\\', ..] => '\\',
                [b'\\', b'n', ..] => '\n',
                [b'\\', b'r', ..] => '\r',
                [b'\\', b't', ..] => '\t',
                [b'\\', ..] => {
                    let start = self.at;
                    self.at += 1;
                    return self.fail(start, "unknown escape in a string", Some(r#"write \", \\, \n, \r or \t"#));
                }
                _ => return self.fail(open, "this string does not end", Some("close it with \"")),
            };
            out.to_mut().push(escaped);
            self.at += 2;
        }
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

/// A place in the tokens of a text.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, ParseFailure> {
        Ok(Self { text, tokens: tokenize(text)?, at: 0 })
    }

    /// The token `ahead` places after the current one; the end if fewer are left.
    pub(crate) fn peek_at(&self, ahead: usize) -> &Tok<'a> {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    pub(crate) fn peek(&self) -> &Tok<'a> {
        self.peek_at(0)
    }

    /// The place of the current token.
    pub(crate) fn place(&self) -> At {
        self.tokens[self.at].at
    }

    /// The place of the token before the current one.
    pub(crate) fn previous(&self) -> At {
        self.tokens[self.at.saturating_sub(1)].at
    }

    /// Moves on and returns the token passed.
    pub(crate) fn advance(&mut self) -> Token<'a> {
        let token = self.tokens[self.at].clone();
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }

    pub(crate) fn is(&self, punct: &str) -> bool {
        matches!(self.peek(), Tok::Punct(found) if *found == punct)
    }

    pub(crate) fn is_at(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek_at(ahead), Tok::Punct(found) if *found == punct)
    }

    /// Whether the current token is this lower-case word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Lower(found) if *found == word)
    }

    /// Passes the punctuation if it is the current token.
    pub(crate) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.at += 1;
        }
        found
    }

    /// Passes the word if it is the current token.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.at += 1;
        }
        found
    }

    pub(crate) fn expect(&mut self, punct: &'static str) -> Result<At, ParseFailure> {
        if self.is(punct) { Ok(self.advance().at) } else { self.unexpected(&format!("`{punct}`")) }
    }

    pub(crate) fn expect_word(&mut self, word: &'static str) -> Result<At, ParseFailure> {
        if self.is_word(word) { Ok(self.advance().at) } else { self.unexpected(&format!("`{word}`")) }
    }

    /// Fails at the current token.
    pub(crate) fn unexpected<T>(&self, expected: &str) -> Result<T, ParseFailure> {
        self.unexpected_with(expected, None)
    }

    /// Fails at the current token, with the way out.
    pub(crate) fn unexpected_with<T>(&self, expected: &str, hint: Option<&'static str>) -> Result<T, ParseFailure> {
        let at = self.place();
        let found = match self.peek() {
            Tok::End => "the end of the text".to_owned(),
            _ => format!("`{}`", clip(&self.text[at.start..at.end])),
        };
        Err(ParseFailure { at, message: format!("expected {expected}, found {found}"), hint })
    }

    /// Passes `[A-Za-z0-9_-]+`, which may span several tokens.
    pub(crate) fn enum_value(&mut self) -> Result<(&'a str, At), ParseFailure> {
        let start = self.place().start;
        let rest = &self.text[start..];
        let length = rest.bytes().position(|b| !is_word(b) && b != b'-').unwrap_or(rest.len());
        if length == 0 {
            return self.unexpected_with("an enum value", Some("enum values are made of A-Z, a-z, 0-9, `_` and `-`"));
        }
        let at = At { start, end: start + length };
        // A token can reach beyond the value only where it is no part of one, as in `->` or `1.5`.
        while self.place().start < at.end {
            if self.place().end > at.end {
                return self
                    .unexpected_with("an enum value", Some("enum values are made of A-Z, a-z, 0-9, `_` and `-`"));
            }
            self.advance();
        }
        Ok((&rest[..length], at))
    }

    /// A list of items up to `close`, separated by commas, with at most one more comma at the end. `close` is passed.
    pub(crate) fn list<T>(
        &mut self,
        close: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseFailure>,
    ) -> Result<Vec<T>, ParseFailure> {
        let mut items = Vec::new();
        while !self.is(close) {
            items.push(item(self)?);
            if !self.eat(",") && !self.is(close) {
                return self.unexpected(&format!("`,` or `{close}`"));
            }
        }
        self.advance();
        Ok(items)
    }
}

#[cfg(test)]
mod tests;
