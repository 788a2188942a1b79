//! `maintenance.proto`: progress, repairs and checks.

use omnigraph_types::{
    BranchName, CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckSummary, Confirmation, Failure, FileAge,
    FoundTransaction, GraphName, GraphVersion, Progress, Repair, RepairPart, RepairReport, RepairState, TableDamage,
    TableToRepair, TableVersion, TransactionKind, UnnamedFiles, UnnamedKind, UnreadableIntent,
};

use super::field::{
    all, branch_name, each, graph_name, non_empty, optional, optional_operation_id, parsed, present, text,
};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

impl AnswerCodec for v1::MaintenanceProgress {
    type Value = Progress;

    fn to_wire(progress: Progress) -> Self {
        Self { item: progress.item, items_done: progress.done, items_total: progress.total }
    }

    fn from_wire(progress: Self) -> Result<Progress, MalformedAnswer> {
        Ok(Progress { item: progress.item, done: progress.items_done, total: progress.items_total })
    }
}

impl RequestCodec for v1::RepairRequest {
    type Value = (GraphName, Repair);

    fn to_wire((graph, repair): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            branch: repair.branch.into(),
            types: repair.types,
            operation_id: text(repair.operation_id),
            validate_only: false,
            confirmation: match repair.confirmation {
                Confirmation::None => String::new(),
                Confirmation::Given(confirmation) => confirmation,
            },
        }
    }

    /// With `validate_only` a confirmation counts for nothing.
    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let repair = Repair {
            branch: branch_name("branch", &request.branch)?,
            types: request.types,
            operation_id: optional_operation_id(&request.operation_id)?,
            confirmation: match request.validate_only || request.confirmation.is_empty() {
                true => Confirmation::None,
                false => Confirmation::Given(request.confirmation),
            },
        };
        Ok((graph, repair))
    }
}

fn state_to_wire(state: RepairState) -> i32 {
    let state = match state {
        RepairState::Nothing => v1::RepairState::Nothing,
        RepairState::Preview => v1::RepairState::Preview,
        RepairState::Done => v1::RepairState::Done,
        RepairState::Impossible => v1::RepairState::Impossible,
        RepairState::Newer => v1::RepairState::Unspecified,
    };
    state.into()
}

fn state_from_wire(number: i32) -> RepairState {
    match v1::RepairState::try_from(number) {
        Ok(v1::RepairState::Nothing) => RepairState::Nothing,
        Ok(v1::RepairState::Preview) => RepairState::Preview,
        Ok(v1::RepairState::Done) => RepairState::Done,
        Ok(v1::RepairState::Impossible) => RepairState::Impossible,
        Ok(v1::RepairState::Unspecified) | Err(_) => RepairState::Newer,
    }
}

impl AnswerCodec for v1::FoundTransaction {
    type Value = FoundTransaction;

    fn to_wire(found: FoundTransaction) -> Self {
        let (kind, restored_version, other_kind) = match found.kind {
            TransactionKind::Append => (v1::TransactionKind::Append, 0, String::new()),
            TransactionKind::Overwrite => (v1::TransactionKind::Overwrite, 0, String::new()),
            TransactionKind::Delete => (v1::TransactionKind::Delete, 0, String::new()),
            TransactionKind::Update => (v1::TransactionKind::Update, 0, String::new()),
            TransactionKind::Restore(version) => (v1::TransactionKind::Restore, version.0, String::new()),
            TransactionKind::Other(name) => (v1::TransactionKind::Other, 0, name),
        };
        Self {
            version: found.version.0,
            transaction: found.transaction,
            kind: kind.into(),
            rows_change: found.rows_change,
            operation_id: text(found.operation_id),
            restored_version,
            other_kind,
        }
    }

    fn from_wire(found: Self) -> Result<FoundTransaction, MalformedAnswer> {
        let kind = match v1::TransactionKind::try_from(found.kind) {
            Ok(v1::TransactionKind::Append) => TransactionKind::Append,
            Ok(v1::TransactionKind::Overwrite) => TransactionKind::Overwrite,
            Ok(v1::TransactionKind::Delete) => TransactionKind::Delete,
            Ok(v1::TransactionKind::Update) => TransactionKind::Update,
            Ok(v1::TransactionKind::Restore) => TransactionKind::Restore(TableVersion(found.restored_version)),
            Ok(v1::TransactionKind::Other) => TransactionKind::Other(found.other_kind),
            Ok(v1::TransactionKind::Unspecified) | Err(_) => TransactionKind::Other(String::new()),
        };
        Ok(FoundTransaction {
            version: TableVersion(found.version),
            transaction: found.transaction,
            kind,
            rows_change: found.rows_change,
            operation_id: optional("FoundTransaction.operation_id", &found.operation_id)?,
        })
    }
}

impl AnswerCodec for v1::TableToRepair {
    type Value = TableToRepair;

    fn to_wire(table: TableToRepair) -> Self {
        let (damaged_version, damage) = match table.damage {
            None => (0, v1::TableDamage::Unspecified),
            Some((version, TableDamage::Missing)) => (version.0, v1::TableDamage::Missing),
            Some((version, TableDamage::Unreadable)) => (version.0, v1::TableDamage::Unreadable),
            Some((version, TableDamage::TooMany)) => (version.0, v1::TableDamage::TooMany),
            Some((version, TableDamage::Newer)) => (version.0, v1::TableDamage::Unspecified),
        };
        Self {
            r#type: table.type_name,
            pinned_version: table.pinned.0,
            transactions: each(table.transactions),
            transactions_total: table.transactions_total,
            damage: damage.into(),
            damaged_version,
        }
    }

    fn from_wire(table: Self) -> Result<TableToRepair, MalformedAnswer> {
        let damage = match v1::TableDamage::try_from(table.damage) {
            Ok(v1::TableDamage::Unspecified) if table.damaged_version == 0 => None,
            Ok(v1::TableDamage::Missing) => Some(TableDamage::Missing),
            Ok(v1::TableDamage::Unreadable) => Some(TableDamage::Unreadable),
            Ok(v1::TableDamage::TooMany) => Some(TableDamage::TooMany),
            Ok(v1::TableDamage::Unspecified) | Err(_) => Some(TableDamage::Newer),
        };
        Ok(TableToRepair {
            damage: damage.map(|damage| (TableVersion(table.damaged_version), damage)),
            type_name: table.r#type,
            pinned: TableVersion(table.pinned_version),
            transactions: all(table.transactions)?,
            transactions_total: table.transactions_total,
        })
    }
}

impl AnswerCodec for v1::UnreadableIntent {
    type Value = UnreadableIntent;

    fn to_wire(intent: UnreadableIntent) -> Self {
        Self { graph_version: intent.version.0, format: intent.format }
    }

    fn from_wire(intent: Self) -> Result<UnreadableIntent, MalformedAnswer> {
        Ok(UnreadableIntent { version: GraphVersion(intent.graph_version), format: intent.format })
    }
}

impl AnswerCodec for v1::RepairResult {
    type Value = RepairReport;

    fn to_wire(report: RepairReport) -> Self {
        Self {
            operation_id: report.operation_id.to_string(),
            state: state_to_wire(report.state),
            intent: report.intent.map(v1::UnreadableIntent::to_wire),
            tables: each(report.tables),
            tables_fenced: report.tables_fenced,
            confirmation: report.confirmation.unwrap_or_default(),
            graph_version: report.version.0,
            types_left: report.types_left,
        }
    }

    fn from_wire(result: Self) -> Result<RepairReport, MalformedAnswer> {
        Ok(RepairReport {
            operation_id: parsed("RepairResult.operation_id", &result.operation_id)?,
            state: state_from_wire(result.state),
            intent: result.intent.map(v1::UnreadableIntent::from_wire).transpose()?,
            tables: all(result.tables)?,
            tables_fenced: result.tables_fenced,
            confirmation: non_empty(result.confirmation),
            version: GraphVersion(result.graph_version),
            types_left: result.types_left,
        })
    }
}

impl AnswerCodec for v1::RepairResponse {
    type Value = RepairPart;

    fn to_wire(part: RepairPart) -> Self {
        use v1::repair_response::Part;
        let part = match part {
            RepairPart::Progress(progress) => Part::Progress(v1::MaintenanceProgress::to_wire(progress)),
            RepairPart::Report(report) => Part::Result(v1::RepairResult::to_wire(report)),
        };
        Self { part: Some(part) }
    }

    fn from_wire(response: Self) -> Result<RepairPart, MalformedAnswer> {
        use v1::repair_response::Part;
        match present("RepairResponse.part", response.part)? {
            Part::Progress(progress) => v1::MaintenanceProgress::from_wire(progress).map(RepairPart::Progress),
            Part::Result(result) => v1::RepairResult::from_wire(result).map(RepairPart::Report),
        }
    }
}

impl RequestCodec for v1::CheckGraphRequest {
    /// The graph, and the branch; none means every branch, and the files of the graph.
    type Value = (GraphName, Option<BranchName>);

    fn to_wire((graph, branch): Self::Value) -> Self {
        Self { graph: graph.into(), branch: text(branch) }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("graph", &request.graph)?;
        let branch = match request.branch.is_empty() {
            true => None,
            false => Some(branch_name("branch", &request.branch)?),
        };
        Ok((graph, branch))
    }
}

fn severity_to_wire(severity: CheckSeverity) -> i32 {
    let severity = match severity {
        CheckSeverity::MendsItself => v1::CheckSeverity::MendsItself,
        CheckSeverity::NeedsPerson => v1::CheckSeverity::NeedsPerson,
    };
    severity.into()
}

/// A severity that this program does not know may need a person.
fn severity_from_wire(number: i32) -> CheckSeverity {
    match v1::CheckSeverity::try_from(number) {
        Ok(v1::CheckSeverity::MendsItself) => CheckSeverity::MendsItself,
        Ok(v1::CheckSeverity::NeedsPerson | v1::CheckSeverity::Unspecified) | Err(_) => CheckSeverity::NeedsPerson,
    }
}

fn check_kind_to_wire(kind: CheckKind) -> i32 {
    let kind = match kind {
        CheckKind::PendingWrite => v1::CheckKind::PendingWrite,
        CheckKind::UnsettledTable => v1::CheckKind::UnsettledTable,
        CheckKind::TableAhead => v1::CheckKind::TableAhead,
        CheckKind::RemovedBranch => v1::CheckKind::RemovedBranch,
        CheckKind::UnreadableIntent => v1::CheckKind::UnreadableIntent,
        CheckKind::OccupiedTable => v1::CheckKind::OccupiedTable,
        CheckKind::DamagedTable => v1::CheckKind::DamagedTable,
        CheckKind::UnreadableVersion => v1::CheckKind::UnreadableVersion,
        CheckKind::UnreadableContract => v1::CheckKind::UnreadableContract,
        CheckKind::MissingFiles => v1::CheckKind::MissingFiles,
        CheckKind::Newer(_) => v1::CheckKind::Unspecified,
    };
    kind.into()
}

/// The kind of a finding. A kind that this program judges otherwise than the server is that of a newer one: the server's severity counts.
fn check_kind_from_wire(number: i32, severity: i32) -> CheckKind {
    let severity = severity_from_wire(severity);
    let kind = match v1::CheckKind::try_from(number) {
        Ok(v1::CheckKind::PendingWrite) => CheckKind::PendingWrite,
        Ok(v1::CheckKind::UnsettledTable) => CheckKind::UnsettledTable,
        Ok(v1::CheckKind::TableAhead) => CheckKind::TableAhead,
        Ok(v1::CheckKind::RemovedBranch) => CheckKind::RemovedBranch,
        Ok(v1::CheckKind::UnreadableIntent) => CheckKind::UnreadableIntent,
        Ok(v1::CheckKind::OccupiedTable) => CheckKind::OccupiedTable,
        Ok(v1::CheckKind::DamagedTable) => CheckKind::DamagedTable,
        Ok(v1::CheckKind::UnreadableVersion) => CheckKind::UnreadableVersion,
        Ok(v1::CheckKind::UnreadableContract) => CheckKind::UnreadableContract,
        Ok(v1::CheckKind::MissingFiles) => CheckKind::MissingFiles,
        Ok(v1::CheckKind::Unspecified) | Err(_) => CheckKind::Newer(severity),
    };
    if kind.severity() == severity { kind } else { CheckKind::Newer(severity) }
}

impl AnswerCodec for v1::CheckFinding {
    type Value = CheckFinding;

    fn to_wire(finding: CheckFinding) -> Self {
        Self {
            severity: severity_to_wire(finding.kind.severity()),
            kind: check_kind_to_wire(finding.kind),
            branch: text(finding.branch),
            r#type: finding.type_name.unwrap_or_default(),
            message: finding.message,
            next: finding.next,
        }
    }

    fn from_wire(finding: Self) -> Result<CheckFinding, MalformedAnswer> {
        Ok(CheckFinding {
            kind: check_kind_from_wire(finding.kind, finding.severity),
            branch: optional("CheckFinding.branch", &finding.branch)?,
            type_name: non_empty(finding.r#type),
            message: finding.message,
            next: finding.next,
        })
    }
}

impl AnswerCodec for v1::UnnamedFiles {
    type Value = UnnamedFiles;

    fn to_wire(files: UnnamedFiles) -> Self {
        let kind = match files.kind {
            UnnamedKind::Data => v1::UnnamedKind::Data,
            UnnamedKind::TableVersion => v1::UnnamedKind::TableVersion,
            UnnamedKind::State => v1::UnnamedKind::State,
            UnnamedKind::Intent => v1::UnnamedKind::Intent,
            UnnamedKind::Tree => v1::UnnamedKind::Tree,
            UnnamedKind::Newer => v1::UnnamedKind::Unspecified,
        };
        let age = match files.age {
            FileAge::Hour => v1::FileAge::Hour,
            FileAge::Day => v1::FileAge::Day,
            FileAge::Week => v1::FileAge::Week,
            FileAge::Older => v1::FileAge::Older,
            FileAge::Newer => v1::FileAge::Unspecified,
        };
        Self { kind: kind.into(), age: age.into(), files: files.files, bytes: files.bytes }
    }

    fn from_wire(files: Self) -> Result<UnnamedFiles, MalformedAnswer> {
        let kind = match v1::UnnamedKind::try_from(files.kind) {
            Ok(v1::UnnamedKind::Data) => UnnamedKind::Data,
            Ok(v1::UnnamedKind::TableVersion) => UnnamedKind::TableVersion,
            Ok(v1::UnnamedKind::State) => UnnamedKind::State,
            Ok(v1::UnnamedKind::Intent) => UnnamedKind::Intent,
            Ok(v1::UnnamedKind::Tree) => UnnamedKind::Tree,
            Ok(v1::UnnamedKind::Unspecified) | Err(_) => UnnamedKind::Newer,
        };
        let age = match v1::FileAge::try_from(files.age) {
            Ok(v1::FileAge::Hour) => FileAge::Hour,
            Ok(v1::FileAge::Day) => FileAge::Day,
            Ok(v1::FileAge::Week) => FileAge::Week,
            Ok(v1::FileAge::Older) => FileAge::Older,
            Ok(v1::FileAge::Unspecified) | Err(_) => FileAge::Newer,
        };
        Ok(UnnamedFiles { kind, age, files: files.files, bytes: files.bytes })
    }
}

impl AnswerCodec for v1::CheckSummary {
    type Value = CheckSummary;

    fn to_wire(summary: CheckSummary) -> Self {
        Self {
            branches: summary.branches,
            graph_versions: summary.graph_versions,
            table_versions: summary.table_versions,
            mends_itself: summary.mends_itself,
            needs_person: summary.needs_person,
            unnamed: each(summary.unnamed),
            not_accounted: summary.not_accounted,
        }
    }

    fn from_wire(summary: Self) -> Result<CheckSummary, MalformedAnswer> {
        Ok(CheckSummary {
            branches: summary.branches,
            graph_versions: summary.graph_versions,
            table_versions: summary.table_versions,
            mends_itself: summary.mends_itself,
            needs_person: summary.needs_person,
            unnamed: all(summary.unnamed)?,
            not_accounted: summary.not_accounted,
        })
    }
}

impl AnswerCodec for v1::CheckGraphResponse {
    type Value = CheckPart;

    fn to_wire(part: CheckPart) -> Self {
        use v1::check_graph_response::Part;
        let part = match part {
            CheckPart::Progress(progress) => Part::Progress(v1::MaintenanceProgress::to_wire(progress)),
            CheckPart::Finding(finding) => Part::Finding(v1::CheckFinding::to_wire(finding)),
            CheckPart::Summary(summary) => Part::Summary(v1::CheckSummary::to_wire(summary)),
        };
        Self { part: Some(part) }
    }

    fn from_wire(response: Self) -> Result<CheckPart, MalformedAnswer> {
        use v1::check_graph_response::Part;
        match present("CheckGraphResponse.part", response.part)? {
            Part::Progress(progress) => v1::MaintenanceProgress::from_wire(progress).map(CheckPart::Progress),
            Part::Finding(finding) => v1::CheckFinding::from_wire(finding).map(CheckPart::Finding),
            Part::Summary(summary) => v1::CheckSummary::from_wire(summary).map(CheckPart::Summary),
        }
    }
}
