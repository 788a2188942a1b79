//! MaintenanceService: repair and check. Indexes, compaction and cleanup are declared and not offered.

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::{
    CheckFinding, CheckKind, CheckPart, CheckSeverity, CheckSummary, Confirmation, Damage, FileAge, FoundTransaction,
    RepairReport, RepairRequest, RepairState, TableToRepair, UnnamedFiles, UnnamedKind,
};
use omnigraph_flight::{convert, refuse};
use omnigraph_types::Failure;
use omnigraph_wire::v1 as wire;
use omnigraph_wire::v1::maintenance_service_server::MaintenanceService;
use tonic::{Request, Response, Status, async_trait};

use super::{Api, open, refuse_call};

#[async_trait]
impl MaintenanceService for Api {
    type EnsureIndicesStream = BoxStream<'static, Result<wire::EnsureIndicesResponse, Status>>;
    type OptimizeStream = BoxStream<'static, Result<wire::OptimizeResponse, Status>>;
    type CleanupStream = BoxStream<'static, Result<wire::CleanupResponse, Status>>;
    type RepairStream = BoxStream<'static, Result<wire::RepairResponse, Status>>;
    type CheckGraphStream = BoxStream<'static, Result<wire::CheckGraphResponse, Status>>;

    async fn ensure_indices(
        &self,
        _: Request<wire::EnsureIndicesRequest>,
    ) -> Result<Response<Self::EnsureIndicesStream>, Status> {
        refuse_call("EnsureIndices")
    }

    async fn optimize(&self, _: Request<wire::OptimizeRequest>) -> Result<Response<Self::OptimizeStream>, Status> {
        refuse_call("Optimize")
    }

    async fn cleanup(&self, _: Request<wire::CleanupRequest>) -> Result<Response<Self::CleanupStream>, Status> {
        refuse_call("Cleanup")
    }

    async fn repair(&self, request: Request<wire::RepairRequest>) -> Result<Response<Self::RepairStream>, Status> {
        self.repair_branch(request).await.map(Response::new).map_err(refuse)
    }

    async fn check_graph(
        &self,
        request: Request<wire::CheckGraphRequest>,
    ) -> Result<Response<Self::CheckGraphStream>, Status> {
        self.check(request).await.map(Response::new).map_err(refuse)
    }
}

impl Api {
    /// The repair runs while its stream is read; what it has begun ends, whoever reads.
    async fn repair_branch(
        &self,
        request: Request<wire::RepairRequest>,
    ) -> Result<<Self as MaintenanceService>::RepairStream, Failure> {
        let (context, request) = open(request)?;
        let graph = self.graph(&context, &request.graph).await?;
        let confirmation = match request.validate_only || request.confirmation.is_empty() {
            true => Confirmation::None,
            false => Confirmation::Given(request.confirmation),
        };
        let repair = RepairRequest {
            branch: convert::branch_name("branch", &request.branch)?,
            types: request.types,
            operation_id: convert::operation_id(&request.operation_id)?,
            actor: context.actor().to_owned(),
            deadline: Some(context.deadline()),
            confirmation,
        };
        let begun = wire::MaintenanceProgress {
            item: format!("branch {}", repair.branch),
            items_done: 0,
            items_total: repair.types.len() as u64,
        };
        let done = async move {
            if repair.confirmation != Confirmation::None {
                context.enter_effect();
            }
            let report = graph.repair(repair).await.map_err(refuse)?;
            Ok(wire::repair_response::Part::Result(encode_repair(report)))
        };
        let parts = stream::iter([Ok(wire::repair_response::Part::Progress(begun))]).chain(stream::once(done));
        Ok(parts.map_ok(|part| wire::RepairResponse { part: Some(part) }).boxed())
    }

    async fn check(
        &self,
        request: Request<wire::CheckGraphRequest>,
    ) -> Result<<Self as MaintenanceService>::CheckGraphStream, Failure> {
        let (context, request) = open(request)?;
        let branch = match request.branch.is_empty() {
            true => None,
            false => Some(convert::branch_name("branch", &request.branch)?),
        };
        let graph = convert::graph_name("graph", &request.graph)?;
        context.note_graph(graph.as_str());
        let parts = self.engine.check(&graph, branch).await?;
        Ok(parts.map_ok(|part| wire::CheckGraphResponse { part: Some(encode_part(part)) }).map_err(refuse).boxed())
    }
}

fn encode_repair(report: RepairReport) -> wire::RepairResult {
    let state = match report.state {
        RepairState::Nothing => wire::RepairState::Nothing,
        RepairState::Preview => wire::RepairState::Preview,
        RepairState::Done => wire::RepairState::Done,
        RepairState::Impossible => wire::RepairState::Impossible,
    };
    wire::RepairResult {
        operation_id: report.operation_id.to_string(),
        state: state.into(),
        intent: report
            .intent
            .map(|found| wire::UnreadableIntent { graph_version: found.version.0, format: found.format }),
        tables: report.tables.into_iter().map(encode_table).collect(),
        tables_fenced: report.tables_fenced as u64,
        confirmation: report.confirmation.unwrap_or_default(),
        graph_version: report.version.0,
        types_left: report.left,
    }
}

fn encode_table(table: TableToRepair) -> wire::TableToRepair {
    let found = |found: FoundTransaction| wire::FoundTransaction {
        version: found.version.0,
        transaction: found.transaction,
        kind: found.kind,
        rows_change: found.rows_change,
        operation_id: found.operation_id.map(|id| id.to_string()).unwrap_or_default(),
    };
    let damage = table.damage.map(|(_, damage)| match damage {
        Damage::Missing => wire::TableDamage::Missing,
        Damage::Unreadable => wire::TableDamage::Unreadable,
        Damage::TooMany => wire::TableDamage::TooMany,
    });
    wire::TableToRepair {
        r#type: table.type_name,
        pinned_version: table.pinned.0,
        transactions: table.transactions.into_iter().map(found).collect(),
        transactions_total: table.transactions_total,
        damage: damage.unwrap_or(wire::TableDamage::Unspecified).into(),
        damaged_version: table.damage.map(|(version, _)| version.0).unwrap_or_default(),
    }
}

fn encode_part(part: CheckPart) -> wire::check_graph_response::Part {
    use wire::check_graph_response::Part;
    match part {
        CheckPart::Progress { item, done, total } => {
            Part::Progress(wire::MaintenanceProgress { item, items_done: done, items_total: total })
        }
        CheckPart::Finding(finding) => Part::Finding(encode_finding(finding)),
        CheckPart::Summary(summary) => Part::Summary(encode_summary(summary)),
    }
}

fn encode_finding(finding: CheckFinding) -> wire::CheckFinding {
    let severity = match finding.kind.severity() {
        CheckSeverity::MendsItself => wire::CheckSeverity::MendsItself,
        CheckSeverity::NeedsPerson => wire::CheckSeverity::NeedsPerson,
    };
    let kind = match finding.kind {
        CheckKind::PendingWrite => wire::CheckKind::PendingWrite,
        CheckKind::UnsettledTable => wire::CheckKind::UnsettledTable,
        CheckKind::TableAhead => wire::CheckKind::TableAhead,
        CheckKind::RemovedBranch => wire::CheckKind::RemovedBranch,
        CheckKind::UnreadableIntent => wire::CheckKind::UnreadableIntent,
        CheckKind::OccupiedTable => wire::CheckKind::OccupiedTable,
        CheckKind::DamagedTable => wire::CheckKind::DamagedTable,
        CheckKind::UnreadableVersion => wire::CheckKind::UnreadableVersion,
        CheckKind::UnreadableContract => wire::CheckKind::UnreadableContract,
        CheckKind::MissingFiles => wire::CheckKind::MissingFiles,
    };
    wire::CheckFinding {
        severity: severity.into(),
        kind: kind.into(),
        branch: finding.branch.map(|branch| branch.to_string()).unwrap_or_default(),
        r#type: finding.type_name.unwrap_or_default(),
        message: finding.message,
        next: finding.next,
    }
}

fn encode_summary(summary: CheckSummary) -> wire::CheckSummary {
    wire::CheckSummary {
        branches: summary.branches,
        graph_versions: summary.graph_versions,
        table_versions: summary.table_versions,
        mends_itself: summary.mends_itself,
        needs_person: summary.needs_person,
        unnamed: summary.unnamed.into_iter().map(encode_unnamed).collect(),
        not_accounted: summary.not_accounted,
    }
}

fn encode_unnamed(files: UnnamedFiles) -> wire::UnnamedFiles {
    let kind = match files.kind {
        UnnamedKind::Data => wire::UnnamedKind::Data,
        UnnamedKind::TableVersion => wire::UnnamedKind::TableVersion,
        UnnamedKind::State => wire::UnnamedKind::State,
        UnnamedKind::Intent => wire::UnnamedKind::Intent,
        UnnamedKind::Tree => wire::UnnamedKind::Tree,
    };
    let age = match files.age {
        FileAge::Hour => wire::FileAge::Hour,
        FileAge::Day => wire::FileAge::Day,
        FileAge::Week => wire::FileAge::Week,
        FileAge::Older => wire::FileAge::Older,
    };
    wire::UnnamedFiles { kind: kind.into(), age: age.into(), files: files.files, bytes: files.bytes }
}
