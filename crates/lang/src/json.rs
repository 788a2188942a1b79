//! A strict JSON reader that keeps number tokens exact.
//!
//! Why not a general one: numbers must not pass through a float, the same member twice is an error at any depth, and a hostile text
//! must not cost more memory than a stated multiple of its length. Strings without escapes and all numbers are borrowed from the text.
//!
//! Invariants: exactly one value per text; depth and structural characters are bounded; an error names the byte.

use std::borrow::Cow;
use std::collections::HashSet;

use thiserror::Error;

use crate::text::clip;

/// Up to this number of members, a repeated one is searched pairwise.
const PAIRWISE_MEMBERS_MAX: usize = 16;

/// Bounds on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Deepest nesting of arrays and objects.
    pub depth_max: usize,
    /// Most characters `{}[],:` outside strings.
    pub structurals_max: u64,
}

impl JsonLimits {
    /// Depth that every text may have.
    pub const DEPTH_MAX: usize = 64;
}

/// Why the reader refuses a text. Offsets are bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// The text does not continue with the expected part.
    #[error("invalid JSON at byte {offset}: expected {expected}")]
    Syntax {
        /// Where.
        offset: usize,
        /// The expected part.
        expected: &'static str,
    },
    /// One object has a member twice.
    #[error("invalid JSON: the object that ends at byte {offset} has the member {member:?} twice")]
    Duplicate {
        /// One past the object.
        offset: usize,
        /// The member, clipped.
        member: String,
    },
    /// Text after the value.
    #[error("invalid JSON at byte {offset}: text after the value")]
    Trailing {
        /// Where it starts.
        offset: usize,
    },
    /// Nested too deep.
    #[error("invalid JSON at byte {offset}: nested deeper than {depth_max}")]
    Depth {
        /// Where.
        offset: usize,
        /// The bound.
        depth_max: usize,
    },
    /// Too many structural characters.
    #[error("the JSON text has more than {structurals_max} structural characters")]
    Structurals {
        /// The bound.
        structurals_max: u64,
    },
}

/// One JSON value over the text it was read from.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number token as written.
    Number(&'a str),
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<JsonValue<'a>>),
    /// An object: members in order, names distinct.
    Object(Vec<(Cow<'a, str>, JsonValue<'a>)>),
}

impl JsonValue<'_> {
    /// The kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

/// The one value of a text.
pub fn parse<'a>(text: &'a str, limits: &JsonLimits) -> Result<JsonValue<'a>, JsonError> {
    let mut reader = Reader { text, at: 0, depth: 0, structurals: 0, limits: *limits };
    reader.space();
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(JsonError::Trailing { offset: reader.at });
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    structurals: u64,
    limits: JsonLimits,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn syntax<T>(&self, expected: &'static str) -> Result<T, JsonError> {
        Err(JsonError::Syntax { offset: self.at, expected })
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Consumes the current character, which is a structural one.
    fn structural(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        self.structurals += 1;
        if self.structurals > self.limits.structurals_max {
            return Err(JsonError::Structurals { structurals_max: self.limits.structurals_max });
        }
        Ok(())
    }

    fn value(&mut self) -> Result<JsonValue<'a>, JsonError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(JsonValue::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", JsonValue::Bool(true)),
            Some(b'f') => self.word("false", JsonValue::Bool(false)),
            Some(b'n') => self.word("null", JsonValue::Null),
            _ => self.syntax("a value"),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<JsonValue<'a>, JsonError>) -> Result<JsonValue<'a>, JsonError> {
        if self.depth == self.limits.depth_max {
            return Err(JsonError::Depth { offset: self.at, depth_max: self.limits.depth_max });
        }
        self.depth += 1;
        self.structural()?;
        self.space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn word(&mut self, word: &'static str, value: JsonValue<'a>) -> Result<JsonValue<'a>, JsonError> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return self.syntax("a value");
        }
        self.at += word.len();
        Ok(value)
    }

    fn array(&mut self) -> Result<JsonValue<'a>, JsonError> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.structural()?;
            return Ok(JsonValue::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.ends(b']', "',' or ']'")? {
                return Ok(JsonValue::Array(items));
            }
        }
    }

    fn object(&mut self) -> Result<JsonValue<'a>, JsonError> {
        let mut members = Vec::new();
        if self.peek() == Some(b'}') {
            self.structural()?;
            return Ok(JsonValue::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.syntax("a member name in quotes");
            }
            let name = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return self.syntax("':'");
            }
            self.structural()?;
            self.space();
            members.push((name, self.value()?));
            if self.ends(b'}', "',' or '}'")? {
                self.check_distinct(&members)?;
                return Ok(JsonValue::Object(members));
            }
        }
    }

    /// After an item: whether the closing character follows, or a comma and another item.
    fn ends(&mut self, close: u8, expected: &'static str) -> Result<bool, JsonError> {
        self.space();
        match self.peek() {
            Some(found) if found == close => {
                self.structural()?;
                Ok(true)
            }
            Some(b',') => {
                self.structural()?;
                self.space();
                Ok(false)
            }
            _ => self.syntax(expected),
        }
    }

    fn check_distinct(&self, members: &[(Cow<'a, str>, JsonValue<'a>)]) -> Result<(), JsonError> {
        let repeated = if members.len() <= PAIRWISE_MEMBERS_MAX {
            let twice = |at: usize| members[..at].iter().any(|(name, _)| *name == members[at].0);
            (1..members.len()).find(|&at| twice(at)).map(|at| &members[at].0)
        } else {
            let mut seen = HashSet::with_capacity(members.len());
            members.iter().find(|(name, _)| !seen.insert(name.as_ref())).map(|(name, _)| name)
        };
        match repeated {
            Some(member) => Err(JsonError::Duplicate { offset: self.at, member: clip(member) }),
            None => Ok(()),
        }
    }

    fn number(&mut self) -> Result<JsonValue<'a>, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.syntax("a digit"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(JsonValue::Number(&self.text[start..self.at]))
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.syntax("a digit") } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.at += 1;
        let start = self.at;
        self.plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut out = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(0..=0x1f) => return self.syntax("an escape, as control characters are not allowed in strings"),
                Some(_) => {
                    let start = self.at;
                    self.plain();
                    out.push_str(&self.text[start..self.at]);
                }
                None => return self.syntax("'\"'"),
            }
        }
    }

    /// Moves over characters that need no escape.
    fn plain(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let escaped = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.syntax("one of \"\\/bfnrtu after '\\'"),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// The four digits after `\u`, and a second escape where the first is a high surrogate.
    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    return self.syntax("the low surrogate of a pair");
                }
                self.at += 2;
                let second = self.hex4()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return self.syntax("the low surrogate of a pair");
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            first => first,
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None => self.syntax("a character, not half of a surrogate pair"),
        }
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let code = digits.and_then(|digits| {
            digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
        });
        match code {
            Some(code) => {
                self.at += 4;
                Ok(code)
            }
            None => self.syntax("four hexadecimal digits"),
        }
    }
}

#[cfg(test)]
mod tests;
