//! Where an object lies under the root.
//!
//! Invariant: a path is one or more segments joined by `/`; no segment is empty, `.` or `..`, or holds a control character or a backslash.
//! So a path never leaves the root and means the same in every store.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A place relative to the store's root, such as `tables/nodes/1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectPath(String);

/// A text that is no path below the root.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("object path {text:?} is not allowed: join segments by '/', none empty, '.', '..' or with control characters")]
pub struct PathError {
    /// The text.
    pub text: String,
}

fn legal_segment(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.chars().any(|c| c.is_control() || c == '\\')
}

impl ObjectPath {
    /// The path with this text.
    ///
    /// # Panics
    /// On a text that is no path: for literals and for texts built from ids. Use `parse_text` for what came from outside.
    pub fn new(text: impl Into<String>) -> Self {
        match Self::parse_text(text) {
            Ok(path) => path,
            Err(error) => panic!("{error}"),
        }
    }

    /// The path with this text, checked.
    pub fn parse_text(text: impl Into<String>) -> Result<Self, PathError> {
        let text = text.into();
        if text.split('/').all(legal_segment) { Ok(Self(text)) } else { Err(PathError { text }) }
    }

    /// The path of `name` (one or more segments) below this one.
    ///
    /// # Panics
    /// As `new`.
    pub fn child(&self, name: impl fmt::Display) -> Self {
        Self::new(format!("{}/{name}", self.0))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ObjectPath {
    type Error = PathError;
    fn try_from(text: String) -> Result<Self, PathError> {
        Self::parse_text(text)
    }
}

impl From<ObjectPath> for String {
    fn from(path: ObjectPath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_that_leaves_the_root_is_refused() {
        for text in ["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\nb", "a\\b"] {
            assert!(ObjectPath::parse_text(text).is_err(), "{text:?}");
        }
        assert_eq!(ObjectPath::new("a").child("b/c").as_str(), "a/b/c");
    }
}
