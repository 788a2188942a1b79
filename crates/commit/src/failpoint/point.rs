//! Fail points as values: which writer, which phase, on which side of the phase's put.
//!
//! The set of writers is open: each writer gives its name, and nothing here lists them.

use std::fmt;

use omnigraph_types::{Phase, WriterName};
use thiserror::Error;

/// The points of a writer, by its name: a lower-case word such as `load` or `branch_create`, as in logs, intents and recoveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WriterPoints(&'static str);

/// On which side of a phase's put a point lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The put has not begun.
    Before,
    /// The put has been answered.
    After,
}

/// Which put directly follows a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Follows {
    /// None, or not always one.
    Nothing,
    /// The put of an intent.
    Intent,
    /// The put of a table's manifest.
    TableManifest,
    /// The put of a version of the graph's manifest.
    GraphManifest,
    /// The put of an entry of a graph's name.
    NameEntry,
}

/// One place in one writer's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FailPoint {
    /// The writer.
    pub writer: WriterPoints,
    /// The phase.
    pub phase: Phase,
    /// Before or after the phase's put.
    pub side: Side,
    /// The put that follows.
    pub follows: Follows,
}

/// Why `OMNIGRAPH_FAILPOINTS` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FailPointsError {
    /// The text is not a list of `<graph>/<point>=<action>[@<hit>]`.
    #[error(
        "OMNIGRAPH_FAILPOINTS: {entry:?} is not <graph>/<point>=kill|error|lose|pause|late|busy[@<hit>], late and busy only where a put follows; \
         points: {points}"
    )]
    Malformed {
        /// The entry.
        entry: String,
        /// The declared points.
        points: String,
    },
}

/// What a point did to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[cfg_attr(not(debug_assertions), allow(dead_code, reason = "optimized builds have no points"))]
pub enum Injected {
    /// As if the store had refused: certainly not applied.
    #[error("refused")]
    Refused,
    /// As if the reply had been lost: applied or not.
    #[error("reply lost")]
    ReplyLost,
}

impl WriterPoints {
    /// The points of the writer of this name: lower-case letters, digits and `_`.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    /// The writer's name.
    pub fn name(self) -> WriterName {
        WriterName::known(self.0)
    }

    /// The name as text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The point before a phase's put.
    pub const fn before(self, phase: Phase) -> FailPoint {
        let follows = match phase {
            Phase::Arm => Follows::Intent,
            Phase::Apply => Follows::TableManifest,
            Phase::Publish => Follows::GraphManifest,
            Phase::Reply => Follows::Nothing,
        };
        FailPoint { writer: self, phase, side: Side::Before, follows }
    }

    /// The point after a phase's put.
    pub const fn after(self, phase: Phase) -> FailPoint {
        FailPoint { writer: self, phase, side: Side::After, follows: Follows::Nothing }
    }

    /// Both points of each of some phases, in their order.
    pub fn points(self, phases: &[Phase]) -> impl Iterator<Item = FailPoint> {
        phases.iter().flat_map(move |phase| [self.before(*phase), self.after(*phase)])
    }
}

impl fmt::Display for WriterPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Follows {
    /// Fragments of the put's path; none if no put follows.
    pub fn path_fragments(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Nothing => None,
            Self::Intent => Some(["/__recovery/", ".json"]),
            Self::TableManifest => Some(["/tables/", "/_versions/"]),
            Self::GraphManifest => Some(["/__manifest/", "/_versions/"]),
            Self::NameEntry => Some(["__graphs/", ".json"]),
        }
    }
}

impl FailPoint {
    /// `<writer>.<phase>.<before|after>`.
    pub fn name(self) -> String {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        format!("{}.{}.{side}", self.writer, self.phase.letter())
    }
}

impl fmt::Display for FailPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
