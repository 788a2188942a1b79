//! The open kinds. A text that is not named here reads as `Newer`, which is never written.

use serde::{Deserialize, Serialize};

use crate::newer::Noticed;
use crate::rows;

macro_rules! open_kind {
    ($(#[$doc:meta])* $name:ident = $memory:ty, $what:literal: $($variant:ident),* $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name {
            $($variant,)*
            #[serde(other, skip_serializing)]
            Newer,
        }

        impl From<$memory> for $name {
            fn from(kind: $memory) -> Self {
                type Memory = $memory;
                match kind {
                    $(Memory::$variant => Self::$variant,)*
                    Memory::Newer => Self::Newer,
                }
            }
        }

        impl $name {
            pub(super) fn read(self, noticed: &mut Noticed) -> $memory {
                type Memory = $memory;
                match self {
                    $(Self::$variant => Memory::$variant,)*
                    Self::Newer => {
                        noticed.notice($what);
                        Memory::Newer
                    }
                }
            }
        }
    };
}

open_kind! {
    /// What a publication is.
    PublicationKind = rows::PublicationKind, "a publication":
    Commit, Abort, Settle, BranchCreate, Retire, BranchDelete, Repair, Index, Optimize, Retention, LoadAbort,
}

open_kind! {
    /// What kind of request made a commit.
    CommitKind = omnigraph_types::CommitKind, "a commit":
    CreateGraph, Load, Mutate, Merge, SchemaApply, Group,
}

open_kind! {
    /// Who decided about a version.
    DecidedBy = rows::DecidedBy, "a decision":
    Own, Abort, Retire, Repair,
}

/// What a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TableKind {
    Node,
    Edge,
    #[serde(other, skip_serializing)]
    Newer,
}

impl From<omnigraph_types::TypeKind> for TableKind {
    fn from(kind: omnigraph_types::TypeKind) -> Self {
        match kind {
            omnigraph_types::TypeKind::Node => Self::Node,
            omnigraph_types::TypeKind::Edge => Self::Edge,
        }
    }
}

impl TableKind {
    pub(super) fn read(self, noticed: &mut Noticed) -> Option<omnigraph_types::TypeKind> {
        match self {
            Self::Node => Some(omnigraph_types::TypeKind::Node),
            Self::Edge => Some(omnigraph_types::TypeKind::Edge),
            Self::Newer => {
                noticed.notice("a table");
                None
            }
        }
    }
}
