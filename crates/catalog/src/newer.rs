//! What a newer program of the same storage format has stored, and this one does not know.
//!
//! It is not damage: reading goes on without it. It is never changed either, so nothing is published onto a state that holds it, and no intent
//! that holds it is settled.

use crate::stamp::STORAGE_FORMAT;

/// Something of a kind that only a newer program knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newer {
    /// What it is, such as `a row of the manifest`.
    pub what: String,
    /// The storage format of what holds it: this program's, or a newer one.
    pub format: u32,
}

impl Newer {
    /// Something of a kind that this program does not know, in an object of its own storage format.
    pub fn of_this_format(what: impl Into<String>) -> Self {
        Self { what: what.into(), format: STORAGE_FORMAT }
    }
}

/// Something read that may be a newer program's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading<T> {
    /// Every part of it is known.
    Known(T),
    /// Some part of it is not, so it cannot be used.
    Newer(Newer),
}

impl<T> Reading<T> {
    /// Whether only a newer program knows every part of it.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Newer(_))
    }
}

/// Collects what a reading does not know; the first is kept.
#[derive(Debug, Default)]
pub(crate) struct Noticed(Option<Newer>);

impl Noticed {
    pub(crate) fn notice(&mut self, what: &str) {
        self.0.get_or_insert_with(|| Newer::of_this_format(what));
    }

    pub(crate) fn into_newer(self) -> Option<Newer> {
        self.0
    }

    /// What was read, if all of it is known.
    pub(crate) fn whole<T>(self, read: T) -> Reading<T> {
        match self.0 {
            None => Reading::Known(read),
            Some(newer) => Reading::Newer(newer),
        }
    }
}
