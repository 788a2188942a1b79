//! Checks of a graph, which change nothing: answers.

use crate::named::named_enum;
use crate::{BranchName, Progress};

named_enum! {
    /// Who repairs what a finding reports.
    pub enum CheckSeverity {
        /// The next write, or a server within its interval of recovery.
        MendsItself = "mends_itself",
        /// A person.
        NeedsPerson = "needs_person",
    }
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// A write is running, or was interrupted.
    PendingWrite,
    /// A table that an undone write could still change.
    UnsettledTable,
    /// A table whose head is ahead of its pin, by entries that settling explains.
    TableAhead,
    /// A branch that is deleted and still registered.
    RemovedBranch,
    /// An intent that cannot be read.
    UnreadableIntent,
    /// A table with commits that are not the graph's own.
    OccupiedTable,
    /// A table version that a commit names and that is missing or cannot be read.
    DamagedTable,
    /// A version of a branch that cannot be read.
    UnreadableVersion,
    /// A schema's contract that cannot be read.
    UnreadableContract,
    /// Data files that table versions name and that are missing, or have another size.
    MissingFiles,
    /// A kind that only a newer program knows, with the severity that it was sent with.
    Newer(CheckSeverity),
}

impl CheckKind {
    /// Who repairs it.
    pub fn severity(self) -> CheckSeverity {
        match self {
            Self::PendingWrite | Self::UnsettledTable | Self::TableAhead | Self::RemovedBranch => {
                CheckSeverity::MendsItself
            }
            Self::UnreadableIntent
            | Self::OccupiedTable
            | Self::DamagedTable
            | Self::UnreadableVersion
            | Self::UnreadableContract
            | Self::MissingFiles => CheckSeverity::NeedsPerson,
            Self::Newer(severity) => severity,
        }
    }

    /// The name in logs, texts and JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingWrite => "pending_write",
            Self::UnsettledTable => "unsettled_table",
            Self::TableAhead => "table_ahead",
            Self::RemovedBranch => "removed_branch",
            Self::UnreadableIntent => "unreadable_intent",
            Self::OccupiedTable => "occupied_table",
            Self::DamagedTable => "damaged_table",
            Self::UnreadableVersion => "unreadable_version",
            Self::UnreadableContract => "unreadable_contract",
            Self::MissingFiles => "missing_files",
            Self::Newer(_) => "newer",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// What it is about.
    pub kind: CheckKind,
    /// The branch, where one is concerned more than others.
    pub branch: Option<BranchName>,
    /// The type, where one is concerned.
    pub type_name: Option<String>,
    /// What was found, for people.
    pub message: String,
    /// What to do about it, for people; often a command.
    pub next: String,
}

named_enum! {
    /// What kind of file nothing names.
    pub enum UnnamedKind {
        /// Data files.
        Data = "data",
        /// Versions of tables.
        TableVersion = "table_version",
        /// Files of branches' versions.
        State = "state",
        /// Intents of versions that are published.
        Intent = "intent",
        /// Files in trees and chains that no commit and no branch names.
        Tree = "tree",
        /// A kind that only a newer program knows.
        Newer = "newer",
    }
}

named_enum! {
    /// How long ago a file was last written, by the store's time.
    pub enum FileAge {
        /// Within the last hour: a write that is running may still name it.
        Hour = "hour",
        /// Within the last day.
        Day = "day",
        /// Within the last week.
        Week = "week",
        /// Earlier.
        Older = "older",
        /// An age that only a newer program knows.
        Newer = "newer",
    }
}

/// How many files of one kind and age nothing names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnnamedFiles {
    /// The kind.
    pub kind: UnnamedKind,
    /// The age.
    pub age: FileAge,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a check examined and found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckSummary {
    /// Branches examined.
    pub branches: u64,
    /// Versions of branches read.
    pub graph_versions: u64,
    /// Versions of tables read.
    pub table_versions: u64,
    /// Findings that a write or a server repairs.
    pub mends_itself: u64,
    /// Findings that need a person.
    pub needs_person: u64,
    /// Files that nothing names, by kind and age; only where the whole graph was checked.
    pub unnamed: Vec<UnnamedFiles>,
    /// Types whose data files were not accounted for.
    pub not_accounted: Vec<String>,
}

/// One part of a check's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPart {
    /// How far the check has come.
    Progress(Progress),
    /// A finding.
    Finding(CheckFinding),
    /// The last part.
    Summary(CheckSummary),
}
