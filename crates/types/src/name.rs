//! Names that people choose: checked once, carried as proof.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes of the longest graph name.
const GRAPH_NAME_BYTES_MAX: usize = 63;
/// Bytes of the longest branch name.
const BRANCH_NAME_BYTES_MAX: usize = 255;
/// Bytes of the longest writer name.
const WRITER_NAME_BYTES_MAX: usize = 63;

/// Why a text is not a name. The message says which rule and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// A graph name must match `[a-z0-9][a-z0-9_-]{0,62}`.
    #[error(
        "graph name {0:?} is not allowed: use 1 to 63 of a-z, 0-9, '_' and '-', beginning with a letter or a digit"
    )]
    Graph(String),
    /// A branch name is empty, too long, or holds a control character.
    #[error("branch name {0:?} is not allowed: use 1 to 255 bytes of UTF-8 without control characters")]
    Branch(String),
    /// A writer name must match `[a-z][a-z0-9_]{0,62}`.
    #[error("writer name {0:?} is not allowed: use 1 to 63 of a-z, 0-9 and '_', beginning with a letter")]
    Writer(String),
}

/// The name of a graph: `[a-z0-9][a-z0-9_-]{0,62}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GraphName(String);

impl GraphName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GraphName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let lower_or_digit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = text.as_bytes();
        let legal = (1..=GRAPH_NAME_BYTES_MAX).contains(&bytes.len())
            && lower_or_digit(bytes[0])
            && bytes.iter().all(|&b| lower_or_digit(b) || b == b'_' || b == b'-');
        if legal { Ok(Self(text.to_owned())) } else { Err(NameError::Graph(text.to_owned())) }
    }
}

impl TryFrom<String> for GraphName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<GraphName> for String {
    fn from(name: GraphName) -> Self {
        name.0
    }
}

impl fmt::Display for GraphName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a branch: any UTF-8 without control characters, 1 to 255 bytes. `main` always exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum BranchName {
    /// The branch every graph is born with.
    Main,
    /// Any other branch.
    Named(String),
}

impl BranchName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Main => "main",
            Self::Named(name) => name,
        }
    }
}

impl FromStr for BranchName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text == "main" {
            return Ok(Self::Main);
        }
        let legal = (1..=BRANCH_NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if legal { Ok(Self::Named(text.to_owned())) } else { Err(NameError::Branch(text.to_owned())) }
    }
}

impl TryFrom<String> for BranchName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a kind of writer, such as `load` or `branch_create`: `[a-z][a-z0-9_]{0,62}`. The set of writers is open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WriterName(Cow<'static, str>);

impl WriterName {
    /// The writer of a text that is no writer's name.
    pub const UNKNOWN: Self = Self::known("unknown");

    /// A name that the program itself gives.
    ///
    /// # Panics
    /// If the text is not a writer name; in a constant that is an error of compilation.
    pub const fn known(name: &'static str) -> Self {
        assert!(is_writer_name(name), "a writer name is 1 to 63 of a-z, 0-9 and '_', beginning with a letter");
        Self(Cow::Borrowed(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

const fn is_writer_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.len() > WRITER_NAME_BYTES_MAX || !bytes[0].is_ascii_lowercase() {
        return false;
    }
    let mut at = 1;
    while at < bytes.len() {
        if !(bytes[at].is_ascii_lowercase() || bytes[at].is_ascii_digit() || bytes[at] == b'_') {
            return false;
        }
        at += 1;
    }
    true
}

impl FromStr for WriterName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for WriterName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        if is_writer_name(&text) { Ok(Self(Cow::Owned(text))) } else { Err(NameError::Writer(text)) }
    }
}

impl From<WriterName> for String {
    fn from(name: WriterName) -> Self {
        name.0.into_owned()
    }
}

impl fmt::Display for WriterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_name_outside_its_alphabet_is_refused() {
        for text in ["", "-a", "A", "a b", "a/b", "é", &"a".repeat(64)] {
            assert!(text.parse::<GraphName>().is_err(), "{text:?}");
        }
        for text in ["a", "0", "my-graph_2", &"a".repeat(63)] {
            assert_eq!(text.parse::<GraphName>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn writer_name_outside_its_alphabet_is_refused() {
        for text in ["", "Load", "2load", "_load", "branch-create", &"a".repeat(64)] {
            assert!(text.parse::<WriterName>().is_err(), "{text:?}");
        }
        assert_eq!("branch_create".parse(), Ok(WriterName::known("branch_create")));
    }

    #[test]
    fn branch_name_takes_any_text_without_control_characters() {
        for text in ["", "a\nb", "\u{7f}", &"é".repeat(128)] {
            assert!(text.parse::<BranchName>().is_err(), "{text:?}");
        }
        for text in ["feature/a", "雪 🚢", "..", "main2"] {
            assert_eq!(text.parse::<BranchName>().unwrap(), BranchName::Named(text.to_owned()));
        }
        assert_eq!("main".parse::<BranchName>().unwrap(), BranchName::Main);
    }
}
