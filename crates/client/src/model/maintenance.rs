//! What repair and check answer.

use omnigraph_types::{BranchName, GraphVersion, OperationId, TableVersion};
use omnigraph_wire::v1;

use super::parsed;
use crate::ClientError;

/// How a repair came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairState {
    /// Nothing stands in the way.
    Nothing,
    /// Something does, and nothing was done.
    Preview,
    /// What was confirmed is done.
    Done,
    /// What stands in the way cannot be mended from what is stored.
    Impossible,
    /// Something that this client does not know.
    Other,
}

/// A transaction behind the version that a branch pins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTransaction {
    /// The version that it made.
    pub version: TableVersion,
    /// Its id.
    pub transaction: String,
    /// What it did, such as `append`.
    pub kind: String,
    /// Rows that it added, or removed where negative.
    pub rows_change: i64,
    /// The operation, if an attempt of the graph made it.
    pub operation_id: Option<OperationId>,
}

/// What is wrong with a version that no repair brings back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableDamage {
    /// It is missing.
    Missing,
    /// It cannot be read.
    Unreadable,
    /// More versions than can be looked at follow the pinned one.
    TooMany,
}

/// A table that stands in the way of writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableToRepair {
    /// The type.
    pub type_name: String,
    /// The version that the branch pins, which is restored.
    pub pinned: TableVersion,
    /// The first transactions that are undone, oldest first.
    pub transactions: Vec<FoundTransaction>,
    /// How many there are.
    pub transactions_total: u64,
    /// The damaged version, where the table cannot be repaired.
    pub damage: Option<(TableVersion, TableDamage)>,
}

/// An object that stands where an intent belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreadableIntent {
    /// The version that it is a ticket for.
    pub version: GraphVersion,
    /// The format that it names, if another program wrote it.
    pub format: Option<u32>,
}

/// What stands in the way on a branch, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// The operation.
    pub operation_id: OperationId,
    /// How it came out.
    pub state: RepairState,
    /// The intent that cannot be read.
    pub intent: Option<UnreadableIntent>,
    /// The tables.
    pub tables: Vec<TableToRepair>,
    /// Further tables that are put out of the reach of the intent's owner, and keep their rows.
    pub tables_fenced: u64,
    /// Confirms exactly this, if there is something to do.
    pub confirmation: Option<String>,
    /// The branch's version that was looked at; once done, the one that tells of it.
    pub version: GraphVersion,
    /// Types whose tables could not be put back.
    pub types_left: Vec<String>,
}

impl RepairReport {
    pub(crate) fn from_wire(result: v1::RepairResult) -> Result<Self, ClientError> {
        let state = match result.state() {
            v1::RepairState::Nothing => RepairState::Nothing,
            v1::RepairState::Preview => RepairState::Preview,
            v1::RepairState::Done => RepairState::Done,
            v1::RepairState::Impossible => RepairState::Impossible,
            v1::RepairState::Unspecified => RepairState::Other,
        };
        let intent = |found: v1::UnreadableIntent| UnreadableIntent {
            version: GraphVersion(found.graph_version),
            format: found.format,
        };
        Ok(Self {
            operation_id: parsed(&result.operation_id, "a repair's operation id")?,
            state,
            intent: result.intent.map(intent),
            tables: result.tables.into_iter().map(TableToRepair::from_wire).collect(),
            tables_fenced: result.tables_fenced,
            confirmation: Some(result.confirmation).filter(|confirmation| !confirmation.is_empty()),
            version: GraphVersion(result.graph_version),
            types_left: result.types_left,
        })
    }
}

impl TableToRepair {
    fn from_wire(table: v1::TableToRepair) -> Self {
        let damage = match table.damage() {
            v1::TableDamage::Unspecified => None,
            v1::TableDamage::Missing => Some(TableDamage::Missing),
            v1::TableDamage::Unreadable => Some(TableDamage::Unreadable),
            v1::TableDamage::TooMany => Some(TableDamage::TooMany),
        };
        let found = |found: v1::FoundTransaction| FoundTransaction {
            version: TableVersion(found.version),
            transaction: found.transaction,
            kind: found.kind,
            rows_change: found.rows_change,
            operation_id: found.operation_id.parse().ok(),
        };
        Self {
            damage: damage.map(|damage| (TableVersion(table.damaged_version), damage)),
            type_name: table.r#type,
            pinned: TableVersion(table.pinned_version),
            transactions: table.transactions.into_iter().map(found).collect(),
            transactions_total: table.transactions_total,
        }
    }
}

/// Who mends a finding of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckSeverity {
    /// The next write, or a server in its own time.
    MendsItself,
    /// A person. What this client does not know counts as such.
    NeedsPerson,
}

/// One finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFinding {
    /// Who mends it.
    pub severity: CheckSeverity,
    /// What it is about, in the contract's words: `occupied_table`.
    pub kind: String,
    /// The branch, where one is concerned more than others.
    pub branch: Option<BranchName>,
    /// The type, where one is concerned.
    pub type_name: Option<String>,
    /// What was found.
    pub message: String,
    /// The way out.
    pub next: String,
}

impl CheckFinding {
    fn from_wire(finding: v1::CheckFinding) -> Self {
        Self {
            severity: match finding.severity() {
                v1::CheckSeverity::MendsItself => CheckSeverity::MendsItself,
                v1::CheckSeverity::NeedsPerson | v1::CheckSeverity::Unspecified => CheckSeverity::NeedsPerson,
            },
            kind: short(finding.kind().as_str_name(), "CHECK_KIND_"),
            branch: Some(finding.branch).filter(|name| !name.is_empty()).and_then(|name| name.parse().ok()),
            type_name: Some(finding.r#type).filter(|name| !name.is_empty()),
            message: finding.message,
            next: finding.next,
        }
    }
}

/// A value of an enum without its prefix, in lower case.
fn short(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase()
}

/// How many files of one kind and age nothing names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnnamedFiles {
    /// The kind, in the contract's words: `data`, `table_version`.
    pub kind: String,
    /// The age, in the contract's words: `hour`, `day`, `week`, `older`.
    pub age: String,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What a check looked at and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSummary {
    /// Branches looked at.
    pub branches: u64,
    /// Versions of branches read.
    pub graph_versions: u64,
    /// Versions of tables read.
    pub table_versions: u64,
    /// Findings that mend themselves.
    pub mends_itself: u64,
    /// Findings that need a person.
    pub needs_person: u64,
    /// Files that nothing names, by kind and age.
    pub unnamed: Vec<UnnamedFiles>,
    /// Types whose data files were not accounted for.
    pub not_accounted: Vec<String>,
}

impl CheckSummary {
    fn from_wire(summary: v1::CheckSummary) -> Self {
        let unnamed = |files: v1::UnnamedFiles| UnnamedFiles {
            kind: short(files.kind().as_str_name(), "UNNAMED_KIND_"),
            age: short(files.age().as_str_name(), "FILE_AGE_"),
            files: files.files,
            bytes: files.bytes,
        };
        Self {
            branches: summary.branches,
            graph_versions: summary.graph_versions,
            table_versions: summary.table_versions,
            mends_itself: summary.mends_itself,
            needs_person: summary.needs_person,
            unnamed: summary.unnamed.into_iter().map(unnamed).collect(),
            not_accounted: summary.not_accounted,
        }
    }
}

/// One part of what a check tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckPart {
    /// How far it has come: what is looked at, how much of it is done, and how much there is, where that is known.
    Progress {
        /// What is being looked at.
        item: String,
        /// Items done.
        done: u64,
        /// Items in all, or 0.
        total: u64,
    },
    /// A finding.
    Finding(CheckFinding),
    /// The last part.
    Summary(CheckSummary),
}

impl CheckPart {
    pub(crate) fn from_wire(part: v1::check_graph_response::Part) -> Self {
        use v1::check_graph_response::Part;
        match part {
            Part::Progress(progress) => {
                Self::Progress { item: progress.item, done: progress.items_done, total: progress.items_total }
            }
            Part::Finding(finding) => Self::Finding(CheckFinding::from_wire(finding)),
            Part::Summary(summary) => Self::Summary(CheckSummary::from_wire(summary)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_of_an_unknown_kind_needs_a_person() {
        let finding = v1::CheckFinding { kind: 99, message: "m".to_owned(), ..v1::CheckFinding::default() };
        let finding = CheckFinding::from_wire(finding);
        assert_eq!((finding.severity, finding.kind.as_str()), (CheckSeverity::NeedsPerson, "unspecified"));
        assert_eq!((finding.branch, finding.type_name), (None, None));
    }

    #[test]
    fn repair_without_something_to_confirm_has_no_confirmation() {
        let result = v1::RepairResult {
            operation_id: "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".to_owned(),
            state: v1::RepairState::Nothing.into(),
            ..v1::RepairResult::default()
        };
        let report = RepairReport::from_wire(result).unwrap();
        assert_eq!((report.state, report.confirmation), (RepairState::Nothing, None));
    }
}
