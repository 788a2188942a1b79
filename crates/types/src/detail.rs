//! The parts that problems are made of: what they are about, and what was found.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Span;
use crate::named::named_enum;

/// The phases of a write, by the protocol's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// A: arm the intent.
    Arm,
    /// B: apply and confirm the effects.
    Apply,
    /// C: publish.
    Publish,
    /// D: reply and housekeeping.
    Reply,
}

impl Phase {
    /// The letter used in logs, fail points and details.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Arm => "A",
            Self::Apply => "B",
            Self::Publish => "C",
            Self::Reply => "D",
        }
    }
}

/// What kind of thing a `NotFound` or `AlreadyExists` is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// A graph, by name.
    Graph,
    /// A branch, by name.
    Branch,
    /// A commit, by id.
    Commit,
    /// An entity, by type and id.
    Entity,
    /// An operation, by id.
    Operation,
    /// A node or edge type, by name.
    Type,
}

/// Something that an operation had read, or replaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReadSetMember {
    /// The branch itself: its name belongs to another branch now.
    Branch,
    /// The schema.
    Schema,
    /// The branch's head.
    Head,
    /// The rows of one node or edge type.
    Table(String),
    /// What a repair was confirmed for.
    Repair,
    /// A member that only a newer program knows, as text.
    Newer(String),
}

/// What a table's member begins with, as text.
const TABLE_PREFIX: &str = "table:";

impl fmt::Display for ReadSetMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch => f.write_str("branch"),
            Self::Schema => f.write_str("schema"),
            Self::Head => f.write_str("head"),
            Self::Table(type_name) => write!(f, "{TABLE_PREFIX}{type_name}"),
            Self::Repair => f.write_str("repair"),
            Self::Newer(member) => f.write_str(member),
        }
    }
}

/// A text that names no member of a read set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a member of a read set: write branch, schema, head, repair or table:TYPE")]
pub struct UnknownMember(pub String);

impl FromStr for ReadSetMember {
    type Err = UnknownMember;

    fn from_str(text: &str) -> Result<Self, UnknownMember> {
        let known = [Self::Branch, Self::Schema, Self::Head, Self::Repair];
        let named = known.into_iter().find(|member| member.to_string() == text);
        let table = || text.strip_prefix(TABLE_PREFIX).map(|type_name| Self::Table(type_name.to_owned()));
        named.or_else(table).ok_or_else(|| UnknownMember(text.to_owned()))
    }
}

named_enum! {
    /// Which rule a row broke.
    pub enum ConstraintKind {
        /// `@range`.
        Range = "range",
        /// `@check`.
        Check = "check",
        /// A value outside an enum's set.
        Enum = "enum",
        /// A null in a required column.
        Null = "null",
        /// `@unique`, or the same id twice in one write.
        Unique = "unique",
        /// An edge whose source or target does not exist after the write.
        OrphanEdge = "orphan_edge",
        /// `@card`.
        Cardinality = "cardinality",
        /// A vector of another length, or with a value that is not finite.
        Vector = "vector",
    }
}

/// One row that broke one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Node or edge type.
    pub type_name: String,
    /// The entity's id, where known.
    pub entity: Option<String>,
    /// The property or properties the rule is about.
    pub properties: Vec<String>,
    /// The rule.
    pub kind: ConstraintKind,
    /// The rule and the offending value, as a person reads it.
    pub message: String,
    /// 1-based row of the client's stream, or line of its NDJSON text.
    pub source_row: Option<u64>,
}

/// One finding about a schema's or a query's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `T6` or `ParseError`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// The way out, where one is known.
    pub hint: Option<String>,
}

named_enum! {
    /// Why a merge cannot decide about an entity.
    pub enum MergeConflictKind {
        /// Both branches added the id, with different properties.
        DivergentInsert = "divergent_insert",
        /// Both branches changed a property, to different values.
        DivergentUpdate = "divergent_update",
        /// One branch removed the entity, the other changed it.
        DeleteVersusUpdate = "delete_versus_update",
        /// The merged rows break a rule of the schema.
        RuleBroken = "rule_broken",
    }
}

/// One conflict of a branch merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeConflict {
    /// Kind of conflict.
    pub kind: MergeConflictKind,
    /// Node or edge type.
    pub type_name: String,
    /// The entity's id.
    pub entity: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_of_a_read_set_round_trips_through_its_text() {
        let table = |name: &str| ReadSetMember::Table(name.to_owned());
        let members =
            [ReadSetMember::Branch, ReadSetMember::Schema, ReadSetMember::Head, ReadSetMember::Repair, table("Route")];
        for member in members {
            assert_eq!(member.to_string().parse(), Ok(member));
        }
        assert_eq!("heads".parse::<ReadSetMember>(), Err(UnknownMember("heads".to_owned())));
    }
}
