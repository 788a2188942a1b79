//! Values of the vocabulary, of any content that the contract allows.

use omnigraph_types::{
    BranchId, BranchInfo, BranchName, Capture, Cardinality, CheckFinding, CheckKind, CheckPart, CheckSeverity,
    CheckSummary, ColumnInfo, ColumnType, Columns, Commit, CommitId, CommitKind, Confirmation, CreateBranch,
    CreateGraph, DeleteBranch, DeleteGraph, Feature, FileAge, FoundTransaction, GraphId, GraphInfo, GraphName,
    GraphReceipt, GraphVersion, LanceBranch, LimitEntry, LimitUnit, ListTables, LoadMode, LoadRequest, LoadedRows,
    OnConflict, OperationId, Page, PageRequest, Progress, PropertyId, PropertyInfo, QueryHeader, QueryId, QueryName,
    QueryRequest, QueryState, ReadAt, RecoveredTable, Recovery, RecoveryOutcome, Repair, RepairPart, RepairReport,
    RepairState, ResultFormat, RootId, RunningQuery, ScalarType, SchemaInfo, ServerInfo, TableDamage, TableId,
    TableInfo, TablePage, TableState, TableToRepair, TableVersion, TransactionKind, TreeId, TypeChoice, TypeCounts,
    TypeKind, TypeLoad, TypeLoadAnswer, TypeScan, TypeShape, TypeSummary, UnnamedFiles, UnnamedKind, UnreadableIntent,
    WriteMode, WriteOptions, WriteOutcome, WriteReceipt,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use ulid::Ulid;

/// Milliseconds that a timestamp of the wire holds, far beyond any clock.
const TIME_MS_MAX: u64 = 253_402_300_799_999;

fn text() -> impl Strategy<Value = String> {
    "[a-zé雪 \"]{0,8}"
}

fn some_text() -> impl Strategy<Value = String> {
    "[a-zé雪]{1,8}"
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn ulid() -> impl Strategy<Value = Ulid> {
    any::<u128>().prop_map(Ulid::from)
}

fn time_ms() -> impl Strategy<Value = u64> {
    0..=TIME_MS_MAX
}

pub(super) fn graph_name() -> impl Strategy<Value = GraphName> {
    "[a-z0-9][a-z0-9_-]{0,10}".prop_map(|name| name.parse().unwrap())
}

pub(super) fn branch_name() -> impl Strategy<Value = BranchName> {
    "main|[^\\p{C}]{1,12}".prop_map(|name| name.parse().unwrap())
}

pub(super) fn commit_id() -> impl Strategy<Value = CommitId> {
    ulid().prop_map(CommitId)
}

pub(super) fn operation_id() -> impl Strategy<Value = OperationId> {
    ulid().prop_map(OperationId)
}

fn table_version() -> impl Strategy<Value = TableVersion> {
    any::<u64>().prop_map(TableVersion)
}

fn graph_version() -> impl Strategy<Value = GraphVersion> {
    any::<u64>().prop_map(GraphVersion)
}

fn write_mode() -> impl Strategy<Value = WriteMode> {
    select(WriteMode::ALL)
}

pub(super) fn result_format() -> impl Strategy<Value = ResultFormat> {
    select(ResultFormat::ALL)
}

pub(super) fn page() -> impl Strategy<Value = PageRequest> {
    (any::<u32>(), text()).prop_map(|(size, token)| PageRequest { size, token })
}

pub(super) fn page_of<T: std::fmt::Debug>(item: impl Strategy<Value = T>) -> impl Strategy<Value = Page<T>> {
    (vec(item, 0..3), text()).prop_map(|(items, next)| Page { items, next })
}

pub(super) fn read_at() -> impl Strategy<Value = ReadAt> {
    prop_oneof![
        branch_name().prop_map(ReadAt::Branch),
        commit_id().prop_map(ReadAt::Commit),
        (branch_name(), time_ms()).prop_map(|(branch, time_ms)| ReadAt::BranchAtTime { branch, time_ms }),
    ]
}

fn write_options() -> impl Strategy<Value = WriteOptions> {
    (option::of(operation_id()), option::of(commit_id()), select(OnConflict::ALL), write_mode()).prop_map(
        |(operation_id, expected_head, on_conflict, mode)| WriteOptions {
            operation_id,
            expected_head,
            on_conflict,
            mode,
        },
    )
}

fn type_counts() -> impl Strategy<Value = TypeCounts> {
    (text(), option::of(select(TypeKind::ALL)), any::<[u64; 4]>()).prop_map(
        |(type_name, kind, [inserted, updated, deleted, row_count])| TypeCounts {
            type_name,
            kind,
            inserted,
            updated,
            deleted,
            row_count,
        },
    )
}

pub(super) fn commit() -> impl Strategy<Value = Commit> {
    let identity = (commit_id(), graph_name(), branch_name(), vec(commit_id(), 0..3), graph_version());
    let origin = (text(), time_ms(), operation_id(), select(CommitKind::ALL), text());
    (identity, origin, vec(type_counts(), 0..3)).prop_map(
        |((id, graph, branch, parents, version), (actor, time_ms, operation_id, kind, schema_hash), counts)| Commit {
            id,
            graph,
            branch,
            parents,
            actor,
            time_ms,
            operation_id,
            kind,
            version,
            schema_hash,
            counts,
        },
    )
}

/// The receipt of a write that is not a load.
pub(super) fn write_receipt() -> impl Strategy<Value = WriteReceipt> {
    let counts = vec(type_counts(), 0..3);
    (operation_id(), select(WriteOutcome::ALL), option::of(commit()), commit_id(), counts).prop_map(
        |(operation_id, outcome, commit, head, counts)| WriteReceipt {
            operation_id,
            outcome,
            commit,
            head,
            counts,
            rows_read: 0,
        },
    )
}

fn load_receipt() -> impl Strategy<Value = WriteReceipt> {
    (write_receipt(), any::<u64>()).prop_map(|(receipt, rows_read)| WriteReceipt { rows_read, ..receipt })
}

pub(super) fn graph_info() -> impl Strategy<Value = GraphInfo> {
    (graph_name(), ulid(), time_ms(), commit_id(), text(), any::<u32>()).prop_map(
        |(name, id, created_ms, head, schema_hash, storage_format)| GraphInfo {
            name,
            id: GraphId(id),
            created_ms,
            head,
            schema_hash,
            storage_format,
        },
    )
}

pub(super) fn create_graph() -> impl Strategy<Value = CreateGraph> {
    (graph_name(), text(), option::of(operation_id()), write_mode())
        .prop_map(|(name, schema_source, operation_id, mode)| CreateGraph { name, schema_source, operation_id, mode })
}

pub(super) fn delete_graph() -> impl Strategy<Value = DeleteGraph> {
    (graph_name(), text(), option::of(operation_id()), write_mode())
        .prop_map(|(name, confirm, operation_id, mode)| DeleteGraph { name, confirm, operation_id, mode })
}

pub(super) fn graph_receipt() -> impl Strategy<Value = GraphReceipt> {
    (option::of(graph_info()), write_receipt()).prop_map(|(graph, receipt)| GraphReceipt { graph, receipt })
}

pub(super) fn branch_info() -> impl Strategy<Value = BranchInfo> {
    let identity = (branch_name(), graph_name(), ulid(), commit_id());
    let origin = (option::of(branch_name()), option::of(commit_id()), time_ms(), text());
    (identity, origin).prop_map(|((name, graph, id, head), (source, source_commit, created_ms, schema_hash))| {
        BranchInfo { name, graph, id: BranchId(id), head, source, source_commit, created_ms, schema_hash }
    })
}

pub(super) fn create_branch() -> impl Strategy<Value = CreateBranch> {
    (branch_name(), read_at(), option::of(operation_id()), option::of(commit_id()), write_mode()).prop_map(
        |(name, source, operation_id, expected_head, mode)| CreateBranch {
            name,
            source,
            operation_id,
            expected_head,
            mode,
        },
    )
}

pub(super) fn delete_branch() -> impl Strategy<Value = DeleteBranch> {
    (branch_name(), option::of(operation_id()), option::of(commit_id()), write_mode())
        .prop_map(|(name, operation_id, expected_head, mode)| DeleteBranch { name, operation_id, expected_head, mode })
}

pub(super) fn load_request() -> impl Strategy<Value = LoadRequest> {
    (branch_name(), select(LoadMode::ALL), write_options()).prop_map(|(branch, mode, options)| LoadRequest {
        branch,
        mode,
        options,
    })
}

pub(super) fn type_load() -> impl Strategy<Value = TypeLoad> {
    (text(), load_request(), select(&[Capture::Wanted, Capture::NotWanted][..]))
        .prop_map(|(type_name, load, capture)| TypeLoad { type_name, load, capture })
}

pub(super) fn type_load_answer() -> impl Strategy<Value = TypeLoadAnswer> {
    prop_oneof![commit().prop_map(TypeLoadAnswer::Capture), load_receipt().prop_map(TypeLoadAnswer::Receipt)]
}

pub(super) fn loaded_rows() -> impl Strategy<Value = LoadedRows> {
    (load_receipt(), any::<u64>()).prop_map(|(receipt, bytes_read)| LoadedRows { receipt, bytes_read })
}

fn query_name() -> impl Strategy<Value = QueryName> {
    prop_oneof![Just(QueryName::Only), some_text().prop_map(QueryName::Named)]
}

pub(super) fn query_request() -> impl Strategy<Value = QueryRequest> {
    (read_at(), text(), query_name(), text()).prop_map(|(at, text, name, params_json)| QueryRequest {
        at,
        text,
        name,
        params_json,
    })
}

pub(super) fn type_scan() -> impl Strategy<Value = TypeScan> {
    let columns = prop_oneof![Just(Columns::All), vec(text(), 1..3).prop_map(Columns::Named)];
    (read_at(), text(), columns).prop_map(|(at, type_name, columns)| TypeScan { at, type_name, columns })
}

fn column_type() -> impl Strategy<Value = ColumnType> {
    prop_oneof![
        select(ScalarType::ALL).prop_map(ColumnType::Scalar),
        select(ScalarType::ALL).prop_map(ColumnType::List),
        any::<u32>().prop_map(ColumnType::Vector),
        texts().prop_map(ColumnType::Enum),
        text().prop_map(ColumnType::Node),
    ]
}

pub(super) fn column_info() -> impl Strategy<Value = ColumnInfo> {
    (text(), column_type(), any::<bool>()).prop_map(|(name, ty, nullable)| ColumnInfo { name, ty, nullable })
}

pub(super) fn query_header() -> impl Strategy<Value = QueryHeader> {
    (vec(column_info(), 0..3), commit(), query_name()).prop_map(|(columns, commit, name)| QueryHeader {
        columns,
        commit,
        name,
    })
}

fn type_shape() -> impl Strategy<Value = TypeShape> {
    let bounds = (any::<u32>(), any::<Option<u32>>()).prop_map(|(min, max)| Cardinality { min, max });
    prop_oneof![
        Just(TypeShape::Node),
        (text(), text(), option::of(bounds)).prop_map(|(from_type, to_type, cardinality)| TypeShape::Edge {
            from_type,
            to_type,
            cardinality
        }),
    ]
}

fn type_summary() -> impl Strategy<Value = TypeSummary> {
    let property = (text(), any::<u32>(), column_type(), any::<bool>(), option::of(some_text())).prop_map(
        |(name, id, ty, nullable, description)| PropertyInfo { name, id: PropertyId(id), ty, nullable, description },
    );
    let texts = (texts(), texts(), option::of(some_text()), option::of(some_text()));
    (text(), any::<u32>(), type_shape(), vec(property, 0..3), texts).prop_map(
        |(name, id, shape, properties, (key, constraints, description, instruction))| TypeSummary {
            name,
            id: TableId(id),
            shape,
            properties,
            key,
            constraints,
            description,
            instruction,
        },
    )
}

pub(super) fn schema_info() -> impl Strategy<Value = SchemaInfo> {
    (text(), text(), text(), vec(type_summary(), 0..3), commit()).prop_map(
        |(source, contract_json, hash, types, commit)| SchemaInfo { source, contract_json, hash, types, commit },
    )
}

pub(super) fn list_tables() -> impl Strategy<Value = ListTables> {
    let types = prop_oneof![Just(TypeChoice::All), some_text().prop_map(TypeChoice::Named)];
    (read_at(), types, page()).prop_map(|(at, types, page)| ListTables { at, types, page })
}

fn table_info() -> impl Strategy<Value = TableInfo> {
    let branch = prop_oneof![Just(LanceBranch::Main), ulid().prop_map(|id| LanceBranch::Named(TreeId(id)))];
    let state = prop_oneof![
        texts().prop_map(|base_paths| TableState::Sound { base_paths }),
        some_text().prop_map(|reason| TableState::Damaged { reason }),
    ];
    let numbers = (any::<u64>(), any::<u64>());
    (text(), select(&[TypeKind::Node, TypeKind::Edge][..]), texts(), numbers, text(), branch, state).prop_map(
        |(type_name, kind, key, (row_count, version), dataset, branch, state)| TableInfo {
            type_name,
            kind,
            key,
            row_count,
            dataset,
            branch,
            version: TableVersion(version),
            state,
        },
    )
}

pub(super) fn table_page() -> impl Strategy<Value = TablePage> {
    (page_of(table_info()), commit()).prop_map(|(page, commit)| TablePage { page, commit })
}

pub(super) fn server_info() -> impl Strategy<Value = ServerInfo> {
    let limit = (text(), any::<u64>(), any::<u64>(), select(LimitUnit::ALL), text())
        .prop_map(|(name, value, default, unit, description)| LimitEntry { name, value, default, unit, description });
    let feature =
        (text(), any::<bool>(), text()).prop_map(|(name, enabled, description)| Feature { name, enabled, description });
    (text(), any::<u32>(), vec(limit, 0..3), vec(feature, 0..3), ulid(), text()).prop_map(
        |(version, storage_format, limits, features, root_id, root)| ServerInfo {
            version,
            storage_format,
            limits,
            features,
            root_id: RootId(root_id),
            root,
        },
    )
}

pub(super) fn query_id() -> impl Strategy<Value = QueryId> {
    ulid().prop_map(QueryId)
}

pub(super) fn running_query() -> impl Strategy<Value = RunningQuery> {
    let who = (query_id(), graph_name(), branch_name(), text(), text());
    let what = (time_ms(), any::<u64>(), select(QueryState::ALL), any::<u64>(), any::<u64>());
    (who, what).prop_map(|((id, graph, branch, actor, text), (started_ms, age_ms, state, rows_sent, memory_bytes))| {
        RunningQuery { id, graph, branch, actor, text, started_ms, age_ms, state, rows_sent, memory_bytes }
    })
}

pub(super) fn recovery() -> impl Strategy<Value = Recovery> {
    let table = (text(), table_version(), table_version()).prop_map(|(type_name, from, to)| RecoveredTable {
        type_name,
        from,
        to,
    });
    let writer = "[a-z][a-z0-9_]{0,10}".prop_map(|name| name.parse().unwrap());
    let decision = (select(RecoveryOutcome::ALL), vec(table, 0..3), time_ms(), graph_version());
    (operation_id(), branch_name(), writer, text(), decision).prop_map(
        |(operation_id, branch, writer, actor, (outcome, tables, time_ms, version))| Recovery {
            operation_id,
            branch,
            writer,
            actor,
            outcome,
            tables,
            time_ms,
            version,
        },
    )
}

pub(super) fn repair() -> impl Strategy<Value = Repair> {
    let confirmation = prop_oneof![Just(Confirmation::None), some_text().prop_map(Confirmation::Given)];
    (branch_name(), texts(), option::of(operation_id()), confirmation)
        .prop_map(|(branch, types, operation_id, confirmation)| Repair { branch, types, operation_id, confirmation })
}

fn transaction_kind() -> impl Strategy<Value = TransactionKind> {
    prop_oneof![
        Just(TransactionKind::Append),
        Just(TransactionKind::Overwrite),
        Just(TransactionKind::Delete),
        Just(TransactionKind::Update),
        table_version().prop_map(TransactionKind::Restore),
        text().prop_map(TransactionKind::Other),
    ]
}

fn table_to_repair() -> impl Strategy<Value = TableToRepair> {
    let found = (table_version(), text(), transaction_kind(), any::<i64>(), option::of(operation_id())).prop_map(
        |(version, transaction, kind, rows_change, operation_id)| FoundTransaction {
            version,
            transaction,
            kind,
            rows_change,
            operation_id,
        },
    );
    let damage = option::of(((1..=u64::MAX).prop_map(TableVersion), select(TableDamage::ALL)));
    (text(), table_version(), vec(found, 0..3), any::<u64>(), damage).prop_map(
        |(type_name, pinned, transactions, transactions_total, damage)| TableToRepair {
            type_name,
            pinned,
            transactions,
            transactions_total,
            damage,
        },
    )
}

fn progress() -> impl Strategy<Value = Progress> {
    (text(), any::<u64>(), any::<u64>()).prop_map(|(item, done, total)| Progress { item, done, total })
}

pub(super) fn repair_part() -> impl Strategy<Value = RepairPart> {
    let intent =
        (graph_version(), any::<Option<u32>>()).prop_map(|(version, format)| UnreadableIntent { version, format });
    let found = (option::of(intent), vec(table_to_repair(), 0..3), any::<u64>());
    let end = (option::of(some_text()), graph_version(), texts());
    let report =
        (operation_id(), select(RepairState::ALL), found, end).prop_map(
            |(operation_id, state, (intent, tables, tables_fenced), (confirmation, version, types_left))| {
                RepairReport { operation_id, state, intent, tables, tables_fenced, confirmation, version, types_left }
            },
        );
    prop_oneof![progress().prop_map(RepairPart::Progress), report.prop_map(RepairPart::Report)]
}

fn check_kind() -> impl Strategy<Value = CheckKind> {
    select(vec![
        CheckKind::PendingWrite,
        CheckKind::UnsettledTable,
        CheckKind::TableAhead,
        CheckKind::RemovedBranch,
        CheckKind::UnreadableIntent,
        CheckKind::OccupiedTable,
        CheckKind::DamagedTable,
        CheckKind::UnreadableVersion,
        CheckKind::UnreadableContract,
        CheckKind::MissingFiles,
        CheckKind::Newer(CheckSeverity::MendsItself),
        CheckKind::Newer(CheckSeverity::NeedsPerson),
    ])
}

pub(super) fn check_part() -> impl Strategy<Value = CheckPart> {
    let finding = (check_kind(), option::of(branch_name()), option::of(some_text()), text(), text())
        .prop_map(|(kind, branch, type_name, message, next)| CheckFinding { kind, branch, type_name, message, next });
    let unnamed = (select(UnnamedKind::ALL), select(FileAge::ALL), any::<u64>(), any::<u64>())
        .prop_map(|(kind, age, files, bytes)| UnnamedFiles { kind, age, files, bytes });
    let summary = (any::<[u64; 5]>(), vec(unnamed, 0..3), texts()).prop_map(
        |([branches, graph_versions, table_versions, mends_itself, needs_person], unnamed, not_accounted)| {
            CheckSummary {
                branches,
                graph_versions,
                table_versions,
                mends_itself,
                needs_person,
                unnamed,
                not_accounted,
            }
        },
    );
    prop_oneof![
        progress().prop_map(CheckPart::Progress),
        finding.prop_map(CheckPart::Finding),
        summary.prop_map(CheckPart::Summary),
    ]
}
