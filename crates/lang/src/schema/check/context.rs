//! What every check of a schema text adds to: findings, warnings and renames.

use crate::code::Code;
use crate::findings::Findings;
use crate::schema::ast::Name;

/// One `@rename_from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The type that is renamed, or whose property is, by its new name.
    pub type_name: String,
    /// The property's new name, if it is a property that is renamed.
    pub property: Option<String>,
    /// The old name.
    pub from: String,
}

pub(super) struct Checker<'a> {
    pub(super) findings: Findings<'a>,
    pub(super) warnings: Findings<'a>,
    pub(super) renames: Vec<Rename>,
}

impl Checker<'_> {
    pub(super) fn error(&mut self, name: Name<'_>, message: impl Into<String>) {
        self.findings.add(Code::Schema, name.at, message);
    }
}
