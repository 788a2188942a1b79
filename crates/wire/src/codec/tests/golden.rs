//! Messages written by hand, and the values that they hold: both directions, so that no pair of fields, and no numbers of an enum, can be swapped on both
//! sides of a codec.

use std::fmt::Debug;

use omnigraph_types::{
    BranchId, BranchInfo, BranchReceipt, Capture, Cardinality, CheckFinding, CheckKind, CheckPart, CheckSummary,
    ColumnInfo, ColumnType, Columns, Commit, CommitId, CommitKind, Confirmation, CreateBranch, CreateGraph,
    DeleteBranch, DeleteGraph, Effect, Failure, Feature, FileAge, FoundTransaction, GraphId, GraphInfo, GraphReceipt,
    GraphVersion, LanceBranch, LimitEntry, LimitUnit, ListTables, LoadMode, LoadRequest, LoadedRows, OnConflict,
    Operation, OperationId, OperationState, Page, PageRequest, Problem, Progress, PropertyId, PropertyInfo,
    QueryHeader, QueryName, QueryRequest, ReadAt, RecoveredTable, Recovery, RecoveryOutcome, Repair, RepairPart,
    RepairReport, RepairState, ResultFormat, RootId, ScalarType, SchemaInfo, ServerInfo, TableDamage, TableId,
    TableInfo, TablePage, TableState, TableToRepair, TableVersion, TransactionKind, TreeId, TypeChoice, TypeCounts,
    TypeKind, TypeLoad, TypeLoadAnswer, TypeScan, TypeShape, TypeSummary, UnnamedFiles, UnnamedKind, UnreadableIntent,
    WriteMode, WriteOptions, WriteOutcome, WriteReceipt, WriterName,
};
use prost_types::Timestamp;
use ulid::Ulid;

use crate::codec::message::{AnswerCodec, RequestCodec};
use crate::v1;
use crate::v1::read_point::Point;

#[track_caller]
fn request<M: RequestCodec<Value: Clone + PartialEq + Debug> + Clone + PartialEq + Debug>(message: M, value: M::Value) {
    assert_eq!(M::from_wire(message.clone()).unwrap(), value);
    assert_eq!(M::to_wire(value), message);
}

#[track_caller]
fn answer<M: AnswerCodec<Value: Clone + PartialEq + Debug> + Clone + PartialEq + Debug>(message: M, value: M::Value) {
    assert_eq!(M::from_wire(message.clone()).unwrap(), value);
    assert_eq!(M::to_wire(value), message);
}

fn s(text: &str) -> String {
    text.to_owned()
}

/// The text of the id of this number, which has one digit.
fn id(number: u8) -> String {
    format!("0000000000000000000000000{number}")
}

fn ulid(number: u128) -> Ulid {
    Ulid::from(number)
}

fn parse<T: std::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// 1970-01-01T00:00:01.002Z.
fn moment() -> Option<Timestamp> {
    Some(Timestamp { seconds: 1, nanos: 2_000_000 })
}

fn counts() -> (v1::TypeCounts, TypeCounts) {
    let message = v1::TypeCounts { r#type: s("Route"), kind: 2, inserted: 11, updated: 12, deleted: 13, total: 14 };
    let value = TypeCounts {
        type_name: s("Route"),
        kind: Some(TypeKind::Edge),
        inserted: 11,
        updated: 12,
        deleted: 13,
        row_count: 14,
    };
    (message, value)
}

fn commit() -> (v1::Commit, Commit) {
    let message = v1::Commit {
        name: format!("graphs/air/commits/{}", id(1)),
        commit_id: id(1),
        graph: s("air"),
        branch: s("dev"),
        parent_commit_ids: vec![id(2), id(3)],
        actor: s("ann"),
        create_time: moment(),
        operation_id: id(4),
        kind: 3,
        graph_version: 15,
        schema_hash: s("hash"),
        counts: vec![counts().0],
    };
    let value = Commit {
        id: CommitId(ulid(1)),
        graph: parse("air"),
        branch: parse("dev"),
        parents: vec![CommitId(ulid(2)), CommitId(ulid(3))],
        actor: s("ann"),
        time_ms: 1_002,
        operation_id: OperationId(ulid(4)),
        kind: CommitKind::Load,
        version: GraphVersion(15),
        schema_hash: s("hash"),
        counts: vec![counts().1],
    };
    (message, value)
}

fn receipt(rows_read: u64) -> (v1::WriteReceipt, WriteReceipt) {
    let message = v1::WriteReceipt {
        operation_id: id(5),
        commit: Some(commit().0),
        head: id(6),
        counts: vec![counts().0],
        outcome: 2,
    };
    let value = WriteReceipt {
        operation_id: OperationId(ulid(5)),
        outcome: WriteOutcome::Replayed,
        commit: Some(commit().1),
        head: CommitId(ulid(6)),
        counts: vec![counts().1],
        rows_read,
    };
    (message, value)
}

fn page() -> PageRequest {
    PageRequest { size: 21, token: s("token") }
}

fn page_of<T>(item: T) -> Page<T> {
    Page { items: vec![item], next: s("next") }
}

/// The head of `dev`.
fn at_head() -> (Option<v1::ReadPoint>, ReadAt) {
    (Some(v1::ReadPoint { point: Some(Point::Branch(s("dev"))) }), ReadAt::Branch(parse("dev")))
}

#[test]
fn graphs_are_what_the_contract_says() {
    let create =
        v1::CreateGraphRequest { graph: s("air"), schema: s("node"), operation_id: id(1), validate_only: true };
    let operation_id = Some(OperationId(ulid(1)));
    let value =
        CreateGraph { name: parse("air"), schema_source: s("node"), operation_id, mode: WriteMode::ValidateOnly };
    request(create, value);
    let delete =
        v1::DeleteGraphRequest { graph: s("air"), confirm: s("yes"), operation_id: id(1), validate_only: true };
    let value = DeleteGraph { name: parse("air"), confirm: s("yes"), operation_id, mode: WriteMode::ValidateOnly };
    request(delete, value);
    request(v1::GetGraphRequest { graph: s("air") }, parse("air"));
    request(v1::ListGraphsRequest { page_size: 21, page_token: s("token") }, page());

    let message = v1::Graph {
        name: s("graphs/air"),
        graph: s("air"),
        graph_id: id(1),
        create_time: moment(),
        head: id(2),
        schema_hash: s("hash"),
        storage_format: 3,
    };
    let info = GraphInfo {
        name: parse("air"),
        id: GraphId(ulid(1)),
        created_ms: 1_002,
        head: CommitId(ulid(2)),
        schema_hash: s("hash"),
        storage_format: 3,
    };
    answer(v1::GetGraphResponse { graph: Some(message.clone()) }, info.clone());
    let list = v1::ListGraphsResponse { graphs: vec![message.clone()], next_page_token: s("next") };
    answer(list, page_of(info.clone()));
    let created = v1::CreateGraphResponse { graph: Some(message), receipt: Some(receipt(0).0) };
    answer(created, GraphReceipt { graph: Some(info), receipt: receipt(0).1 });
    answer(v1::DeleteGraphResponse { operation_id: id(1) }, OperationId(ulid(1)));
}

#[test]
fn branches_are_what_the_contract_says() {
    let at = v1::BranchAtTime { branch: s("old"), time: moment() };
    let create = v1::CreateBranchRequest {
        graph: s("air"),
        branch: s("dev"),
        source: Some(v1::ReadPoint { point: Some(Point::BranchAtTime(at)) }),
        operation_id: id(1),
        expected_head: id(2),
        validate_only: true,
    };
    let (operation_id, expected_head) = (Some(OperationId(ulid(1))), Some(CommitId(ulid(2))));
    let mode = WriteMode::ValidateOnly;
    let source = ReadAt::BranchAtTime { branch: parse("old"), time_ms: 1_002 };
    request(create, (parse("air"), CreateBranch { name: parse("dev"), source, operation_id, expected_head, mode }));
    let delete = v1::DeleteBranchRequest {
        graph: s("air"),
        branch: s("dev"),
        operation_id: id(1),
        expected_head: id(2),
        validate_only: true,
    };
    request(delete, (parse("air"), DeleteBranch { name: parse("dev"), operation_id, expected_head, mode }));
    request(v1::GetBranchRequest { graph: s("air"), branch: s("dev") }, (parse("air"), parse("dev")));
    let list = v1::ListBranchesRequest { graph: s("air"), page_size: 21, page_token: s("token") };
    request(list, (parse("air"), page()));

    let message = v1::Branch {
        name: s("graphs/air/branches/dev"),
        graph: s("air"),
        branch: s("dev"),
        branch_id: id(1),
        head: id(2),
        source_branch: s("main"),
        source_commit: id(3),
        create_time: moment(),
        schema_hash: s("hash"),
    };
    let info = BranchInfo {
        name: parse("dev"),
        graph: parse("air"),
        id: BranchId(ulid(1)),
        head: CommitId(ulid(2)),
        source: Some(parse("main")),
        source_commit: Some(CommitId(ulid(3))),
        created_ms: 1_002,
        schema_hash: s("hash"),
    };
    answer(v1::GetBranchResponse { branch: Some(message.clone()) }, info.clone());
    let list = v1::ListBranchesResponse { branches: vec![message.clone()], next_page_token: s("next") };
    answer(list, page_of(info.clone()));
    let operation_id = OperationId(ulid(4));
    let created = v1::CreateBranchResponse { branch: Some(message), operation_id: id(4) };
    answer(created, BranchReceipt { operation_id, branch: Some(info) });
    answer(v1::DeleteBranchResponse { operation_id: id(4) }, BranchReceipt { operation_id, branch: None });
}

#[test]
fn history_is_what_the_contract_says() {
    request(v1::GetCommitRequest { graph: s("air"), commit: id(1) }, (parse("air"), CommitId(ulid(1))));
    let list = v1::ListCommitsRequest { graph: s("air"), branch: s("dev"), page_size: 21, page_token: s("token") };
    request(list, (parse("air"), parse("dev"), page()));
    let (message, value) = commit();
    answer(v1::GetCommitResponse { commit: Some(message.clone()) }, value.clone());
    answer(v1::ListCommitsResponse { commits: vec![message], next_page_token: s("next") }, page_of(value));

    let get = v1::GetOperationRequest { graph: s("air"), branch: s("dev"), operation_id: id(1) };
    request(get, (parse("air"), parse("dev"), OperationId(ulid(1))));
    let list = v1::ListRecoveriesRequest { graph: s("air"), branch: s("dev"), page_size: 21, page_token: s("token") };
    request(list, (parse("air"), parse("dev"), page()));
    request(v1::RecoverRequest { graph: s("air"), branch: s("dev") }, (parse("air"), parse("dev")));

    let message = v1::Recovery {
        operation_id: id(1),
        branch: s("dev"),
        writer: s("load"),
        actor: s("ann"),
        outcome: 2,
        tables: vec![v1::RecoveredTable { r#type: s("P"), from_version: 31, to_version: 32 }],
        create_time: moment(),
        graph_version: 33,
    };
    let table = RecoveredTable { type_name: s("P"), from: TableVersion(31), to: TableVersion(32) };
    let value = Recovery {
        operation_id: OperationId(ulid(1)),
        branch: parse("dev"),
        writer: WriterName::known("load"),
        actor: s("ann"),
        outcome: RecoveryOutcome::RolledBack,
        tables: vec![table],
        time_ms: 1_002,
        version: GraphVersion(33),
    };
    let list = v1::ListRecoveriesResponse { recoveries: vec![message.clone()], next_page_token: s("next") };
    answer(list, page_of(value.clone()));
    answer(v1::RecoverResponse { recoveries: vec![message] }, vec![value]);
}

#[test]
fn operations_are_what_the_contract_says() {
    let undone = Problem::OperationRolledBack { operation_id: OperationId(ulid(1)), reason: s("cut off") };
    let failure = || Box::new(Failure::new(undone.clone(), "undone").with_effect(Effect::Unknown));
    let states = [
        (1, OperationState::Unknown),
        (2, OperationState::InProgress),
        (3, OperationState::Committed(Box::new(receipt(0).1))),
        (4, OperationState::RolledBack(failure())),
        (5, OperationState::InDoubt(failure())),
    ];
    for (number, state) in states {
        let value = Operation { id: OperationId(ulid(1)), graph: parse("air"), branch: parse("dev"), state };
        let sent = v1::GetOperationResponse::to_wire(value.clone()).operation.unwrap();
        assert_eq!((&*sent.operation_id, &*sent.graph, &*sent.branch), (&*id(1), "air", "dev"));
        assert_eq!(sent.state, number);
        assert_eq!(sent.receipt, (number == 3).then(|| receipt(0).0));
        assert_eq!(sent.error.is_some(), number > 3);
        let read = v1::GetOperationResponse::from_wire(v1::GetOperationResponse { operation: Some(sent) }).unwrap();
        assert_eq!((read.id, &read.graph, &read.branch), (value.id, &value.graph, &value.branch));
        match (read.state, value.state) {
            (OperationState::Committed(read), OperationState::Committed(value)) => assert_eq!(read, value),
            (OperationState::RolledBack(read), OperationState::RolledBack(value))
            | (OperationState::InDoubt(read), OperationState::InDoubt(value)) => {
                assert_eq!((&read.problem, read.effect), (&value.problem, value.effect));
            }
            (read, value) => assert_eq!(std::mem::discriminant(&read), std::mem::discriminant(&value)),
        }
    }
}

/// The options of a load under operation 1 at head 2, which only validates and fails at a conflict.
fn load() -> LoadRequest {
    let options = WriteOptions {
        operation_id: Some(OperationId(ulid(1))),
        expected_head: Some(CommitId(ulid(2))),
        on_conflict: OnConflict::Fail,
        mode: WriteMode::ValidateOnly,
    };
    LoadRequest { branch: parse("dev"), mode: LoadMode::Overwrite, options }
}

#[test]
fn loads_are_what_the_contract_says() {
    let header = v1::LoadRowsHeader {
        graph: s("air"),
        branch: s("dev"),
        mode: 3,
        operation_id: id(1),
        expected_head: id(2),
        on_conflict: 1,
        validate_only: true,
    };
    request(header, (parse("air"), load()));
    let command = v1::LoadCommand {
        graph: s("air"),
        branch: s("dev"),
        r#type: s("Port"),
        mode: 3,
        operation_id: id(1),
        expected_head: id(2),
        load_id: String::new(),
        part_id: String::new(),
        want_capture: true,
        on_conflict: 1,
        validate_only: true,
    };
    let put = TypeLoad { type_name: s("Port"), load: load(), capture: Capture::Wanted };
    request(command, (parse("air"), put));
    let (message, value) = receipt(41);
    let loaded = v1::LoadRowsResponse { receipt: Some(message.clone()), rows_read: 41, bytes_read: 42 };
    answer(loaded, LoadedRows { receipt: value.clone(), bytes_read: 42 });
    let read = v1::load_result::Result::Receipt(v1::LoadReceipt { receipt: Some(message), rows_read: 41 });
    answer(v1::LoadResult { result: Some(read) }, TypeLoadAnswer::Receipt(value));
    let captured = v1::load_result::Result::Capture(v1::LoadCapture { commit: Some(commit().0) });
    answer(v1::LoadResult { result: Some(captured) }, TypeLoadAnswer::Capture(commit().1));
}

#[test]
fn reads_are_what_the_contract_says() {
    let (at, read_at) = at_head();
    let query =
        QueryRequest { at: read_at.clone(), text: s("match"), name: QueryName::Named(s("q")), params_json: s("{}") };
    let sent = v1::QueryRequest {
        graph: s("air"),
        at: at.clone(),
        query: s("match"),
        query_name: s("q"),
        params_json: s("{}"),
        format: 2,
    };
    request(sent, (parse("air"), query.clone(), ResultFormat::ArrowIpc));
    let ticket = v1::QueryTicket {
        graph: s("air"),
        at: at.clone(),
        query: s("match"),
        query_name: s("q"),
        params_json: s("{}"),
    };
    request(ticket, (parse("air"), query));
    let ticket = v1::TableTicket { graph: s("air"), at: at.clone(), r#type: s("Port"), columns: vec![s("a"), s("b")] };
    let columns = Columns::Named(vec![s("a"), s("b")]);
    request(ticket, (parse("air"), TypeScan { at: read_at.clone(), type_name: s("Port"), columns }));
    request(v1::GetSchemaRequest { graph: s("air"), at }, (parse("air"), read_at));

    let column = v1::Column {
        name: s("a"),
        r#type: Some(v1::DataType { kind: Some(v1::data_type::Kind::VectorLength(5)) }),
        nullable: true,
    };
    let info = ColumnInfo { name: s("a"), ty: ColumnType::Vector(5), nullable: true };
    let header = v1::QueryHeader { columns: vec![column], commit: Some(commit().0), query_name: s("q") };
    answer(header, QueryHeader { columns: vec![info], commit: commit().1, name: QueryName::Named(s("q")) });
}

#[test]
fn types_of_columns_are_what_the_contract_says() {
    use v1::data_type::Kind;
    let scalars = [
        (1, ScalarType::String),
        (2, ScalarType::Bool),
        (3, ScalarType::I32),
        (4, ScalarType::I64),
        (5, ScalarType::U32),
        (6, ScalarType::U64),
        (7, ScalarType::F32),
        (8, ScalarType::F64),
        (9, ScalarType::Date),
        (10, ScalarType::DateTime),
        (11, ScalarType::Blob),
    ];
    assert_eq!(scalars.len(), ScalarType::ALL.len());
    for (number, scalar) in scalars {
        answer(v1::DataType { kind: Some(Kind::Scalar(number)) }, ColumnType::Scalar(scalar));
        answer(v1::DataType { kind: Some(Kind::List(number)) }, ColumnType::List(scalar));
    }
    let values = vec![s("a"), s("b")];
    let names = v1::EnumType { values: values.clone() };
    answer(v1::DataType { kind: Some(Kind::Enum(names)) }, ColumnType::Enum(values));
    answer(v1::DataType { kind: Some(Kind::NodeType(s("Port"))) }, ColumnType::Node(s("Port")));
}

#[test]
fn schemas_are_what_the_contract_says() {
    let property = v1::Property {
        name: s("count"),
        r#type: Some(v1::DataType { kind: Some(v1::data_type::Kind::Scalar(4)) }),
        nullable: true,
        property_id: 51,
        description: s("how many"),
    };
    let summary = v1::TypeSummary {
        name: s("Route"),
        kind: 2,
        type_id: 52,
        properties: vec![property],
        key: vec![s("src"), s("dst")],
        from_type: s("Port"),
        to_type: s("Quay"),
        cardinality: Some(v1::Cardinality { min: 1, max: Some(2) }),
        constraints: vec![s("@check")],
        description: s("a route"),
        instruction: s("use it"),
    };
    let schema = v1::Schema { source: s("text"), contract_json: s("{}"), hash: s("hash"), types: vec![summary] };
    let property = PropertyInfo {
        name: s("count"),
        id: PropertyId(51),
        ty: ColumnType::Scalar(ScalarType::I64),
        nullable: true,
        description: Some(s("how many")),
    };
    let cardinality = Some(Cardinality { min: 1, max: Some(2) });
    let summary = TypeSummary {
        name: s("Route"),
        id: TableId(52),
        shape: TypeShape::Edge { from_type: s("Port"), to_type: s("Quay"), cardinality },
        properties: vec![property],
        key: vec![s("src"), s("dst")],
        constraints: vec![s("@check")],
        description: Some(s("a route")),
        instruction: Some(s("use it")),
    };
    let info = SchemaInfo {
        source: s("text"),
        contract_json: s("{}"),
        hash: s("hash"),
        types: vec![summary],
        commit: commit().1,
    };
    answer(v1::GetSchemaResponse { schema: Some(schema), commit: Some(commit().0) }, info);
}

#[test]
fn servers_are_what_the_contract_says() {
    request(v1::GetServerInfoRequest {}, ());
    let units = [LimitUnit::Bytes, LimitUnit::Rows, LimitUnit::Milliseconds, LimitUnit::Count];
    for (number, unit) in (1..).zip(units) {
        let limit = v1::Limit { name: s("a"), value: 61, default_value: 62, unit: number, description: s("the limit") };
        let feature = v1::Feature { name: s("b"), enabled: true, description: s("the feature") };
        let message = v1::GetServerInfoResponse {
            version: s("1.2"),
            storage_format: 63,
            limits: vec![limit],
            features: vec![feature],
            root_id: id(5),
            root: s("/graphs"),
        };
        let limit = LimitEntry { name: s("a"), value: 61, default: 62, unit, description: s("the limit") };
        let feature = Feature { name: s("b"), enabled: true, description: s("the feature") };
        let info = ServerInfo {
            version: s("1.2"),
            storage_format: 63,
            limits: vec![limit],
            features: vec![feature],
            root_id: RootId(ulid(5)),
            root: s("/graphs"),
        };
        answer(message, info);
    }
}

#[test]
fn tables_are_what_the_contract_says() {
    let page = || PageRequest { size: 7, token: s("next") };
    let at = || ReadAt::Commit(CommitId(ulid(1)));
    for (r#type, types) in [("", TypeChoice::All), ("Route", TypeChoice::Named(s("Route")))] {
        let message = v1::ListTablesRequest {
            graph: s("air"),
            at: Some(v1::ReadPoint { point: Some(Point::Commit(id(1))) }),
            r#type: s(r#type),
            page_size: 7,
            page_token: s("next"),
        };
        request(message, (parse("air"), ListTables { at: at(), types, page: page() }));
    }
    let sound = v1::Table {
        r#type: s("Route"),
        kind: 2,
        key: vec![s("a"), s("b")],
        row_count: 11,
        dataset_uri: s("/graphs/1"),
        lance_branch: id(3),
        lance_version: 12,
        base_paths: vec![s("/graphs/2")],
        damage: String::new(),
    };
    let damaged =
        v1::Table { lance_branch: String::new(), base_paths: Vec::new(), damage: s("it is empty"), ..sound.clone() };
    let info = TableInfo {
        type_name: s("Route"),
        kind: TypeKind::Edge,
        key: vec![s("a"), s("b")],
        row_count: 11,
        dataset: s("/graphs/1"),
        branch: LanceBranch::Named(TreeId(ulid(3))),
        version: TableVersion(12),
        state: TableState::Sound { base_paths: vec![s("/graphs/2")] },
    };
    let broken = TableInfo {
        branch: LanceBranch::Main,
        state: TableState::Damaged { reason: s("it is empty") },
        ..info.clone()
    };
    let (commit, value) = commit();
    let message =
        v1::ListTablesResponse { tables: vec![sound, damaged], commit: Some(commit), next_page_token: s("next") };
    answer(message, TablePage { page: Page { items: vec![info, broken], next: s("next") }, commit: value });
}

#[test]
fn repairs_are_what_the_contract_says() {
    let sent = v1::RepairRequest {
        graph: s("air"),
        branch: s("dev"),
        types: vec![s("P"), s("Q")],
        operation_id: id(1),
        validate_only: false,
        confirmation: s("yes"),
    };
    let repair = Repair {
        branch: parse("dev"),
        types: vec![s("P"), s("Q")],
        operation_id: Some(OperationId(ulid(1))),
        confirmation: Confirmation::Given(s("yes")),
    };
    request(sent, (parse("air"), repair));

    let progress = v1::MaintenanceProgress { item: s("P"), items_done: 1, items_total: 2 };
    let part = v1::repair_response::Part::Progress(progress);
    answer(v1::RepairResponse { part: Some(part) }, RepairPart::Progress(Progress { item: s("P"), done: 1, total: 2 }));

    let message = v1::RepairResult {
        operation_id: id(1),
        state: 2,
        intent: Some(v1::UnreadableIntent { graph_version: 71, format: Some(72) }),
        tables: vec![table_to_repair().0],
        tables_fenced: 73,
        confirmation: s("yes"),
        graph_version: 74,
        types_left: vec![s("R")],
    };
    let report = RepairReport {
        operation_id: OperationId(ulid(1)),
        state: RepairState::Preview,
        intent: Some(UnreadableIntent { version: GraphVersion(71), format: Some(72) }),
        tables: vec![table_to_repair().1],
        tables_fenced: 73,
        confirmation: Some(s("yes")),
        version: GraphVersion(74),
        types_left: vec![s("R")],
    };
    let states = [RepairState::Nothing, RepairState::Preview, RepairState::Done, RepairState::Impossible];
    for (number, state) in (1..).zip(states) {
        let part = v1::repair_response::Part::Result(v1::RepairResult { state: number, ..message.clone() });
        answer(v1::RepairResponse { part: Some(part) }, RepairPart::Report(RepairReport { state, ..report.clone() }));
    }
}

fn table_to_repair() -> (v1::TableToRepair, TableToRepair) {
    let found = v1::FoundTransaction {
        version: 81,
        transaction: s("t"),
        kind: 5,
        rows_change: -82,
        operation_id: id(2),
        restored_version: 83,
        other_kind: String::new(),
    };
    let message = v1::TableToRepair {
        r#type: s("P"),
        pinned_version: 84,
        transactions: vec![found],
        transactions_total: 85,
        damage: 2,
        damaged_version: 86,
    };
    let found = FoundTransaction {
        version: TableVersion(81),
        transaction: s("t"),
        kind: TransactionKind::Restore(TableVersion(83)),
        rows_change: -82,
        operation_id: Some(OperationId(ulid(2))),
    };
    let value = TableToRepair {
        type_name: s("P"),
        pinned: TableVersion(84),
        transactions: vec![found],
        transactions_total: 85,
        damage: Some((TableVersion(86), TableDamage::Unreadable)),
    };
    (message, value)
}

#[test]
fn tables_to_repair_are_what_the_contract_says() {
    let (message, value) = table_to_repair();
    let damages = [TableDamage::Missing, TableDamage::Unreadable, TableDamage::TooMany];
    for (number, damage) in (1..).zip(damages) {
        let damage = Some((TableVersion(86), damage));
        answer(v1::TableToRepair { damage: number, ..message.clone() }, TableToRepair { damage, ..value.clone() });
    }
    let kinds = [
        (1, TransactionKind::Append),
        (2, TransactionKind::Overwrite),
        (3, TransactionKind::Delete),
        (4, TransactionKind::Update),
        (6, TransactionKind::Other(s("Rewrite"))),
    ];
    for (number, kind) in kinds {
        let other_kind = if number == 6 { s("Rewrite") } else { String::new() };
        let found =
            v1::FoundTransaction { kind: number, restored_version: 0, other_kind, ..message.transactions[0].clone() };
        answer(found, FoundTransaction { kind, ..value.transactions[0].clone() });
    }
}

#[test]
fn checks_are_what_the_contract_says() {
    use v1::check_graph_response::Part;
    let sent = v1::CheckGraphRequest { graph: s("air"), branch: s("dev") };
    request(sent, (parse("air"), Some(parse("dev"))));
    let kinds = [
        (CheckKind::PendingWrite, 1),
        (CheckKind::UnsettledTable, 1),
        (CheckKind::TableAhead, 1),
        (CheckKind::RemovedBranch, 1),
        (CheckKind::UnreadableIntent, 2),
        (CheckKind::OccupiedTable, 2),
        (CheckKind::DamagedTable, 2),
        (CheckKind::UnreadableVersion, 2),
        (CheckKind::UnreadableContract, 2),
        (CheckKind::MissingFiles, 2),
    ];
    for (number, (kind, severity)) in (1..).zip(kinds) {
        let finding = v1::CheckFinding {
            severity,
            kind: number,
            branch: s("dev"),
            r#type: s("P"),
            message: s("it is so"),
            next: s("do this"),
        };
        let value = CheckFinding {
            kind,
            branch: Some(parse("dev")),
            type_name: Some(s("P")),
            message: s("it is so"),
            next: s("do this"),
        };
        answer(v1::CheckGraphResponse { part: Some(Part::Finding(finding)) }, CheckPart::Finding(value));
    }
    let progress = v1::MaintenanceProgress { item: s("P"), items_done: 1, items_total: 2 };
    let value = CheckPart::Progress(Progress { item: s("P"), done: 1, total: 2 });
    answer(v1::CheckGraphResponse { part: Some(Part::Progress(progress)) }, value);
    let summary = v1::CheckSummary {
        branches: 91,
        graph_versions: 92,
        table_versions: 93,
        mends_itself: 94,
        needs_person: 95,
        unnamed: vec![v1::UnnamedFiles { kind: 2, age: 3, files: 96, bytes: 97 }],
        not_accounted: vec![s("Q")],
    };
    let unnamed = UnnamedFiles { kind: UnnamedKind::TableVersion, age: FileAge::Week, files: 96, bytes: 97 };
    let value = CheckSummary {
        branches: 91,
        graph_versions: 92,
        table_versions: 93,
        mends_itself: 94,
        needs_person: 95,
        unnamed: vec![unnamed],
        not_accounted: vec![s("Q")],
    };
    answer(v1::CheckGraphResponse { part: Some(Part::Summary(summary)) }, CheckPart::Summary(value));
}

/// Every number of the enums that the messages above hold only once.
#[test]
fn numbers_of_enums_are_those_of_the_contract() {
    let kinds = [
        CommitKind::CreateGraph,
        CommitKind::Mutate,
        CommitKind::Load,
        CommitKind::SchemaApply,
        CommitKind::Merge,
        CommitKind::Group,
    ];
    for (number, kind) in (1..).zip(kinds) {
        answer(v1::Commit { kind: number, ..commit().0 }, Commit { kind, ..commit().1 });
    }
    let outcomes = [
        WriteOutcome::Committed,
        WriteOutcome::Replayed,
        WriteOutcome::Unchanged,
        WriteOutcome::Validated,
        WriteOutcome::Done,
    ];
    for (number, outcome) in (1..).zip(outcomes) {
        let message = v1::LoadRowsResponse {
            receipt: Some(v1::WriteReceipt { outcome: number, ..receipt(1).0 }),
            rows_read: 1,
            bytes_read: 2,
        };
        answer(message, LoadedRows { receipt: WriteReceipt { outcome, ..receipt(1).1 }, bytes_read: 2 });
    }
    answer(v1::TypeCounts { kind: 1, ..counts().0 }, TypeCounts { kind: Some(TypeKind::Node), ..counts().1 });
    for (number, mode) in (1..).zip([LoadMode::Append, LoadMode::Merge, LoadMode::Overwrite]) {
        for (on, on_conflict) in (0..).zip([OnConflict::ByKind, OnConflict::Fail, OnConflict::Retry]) {
            let sent = v1::LoadRowsHeader {
                graph: s("air"),
                branch: s("dev"),
                mode: number,
                on_conflict: on,
                ..Default::default()
            };
            let options =
                WriteOptions { operation_id: None, expected_head: None, on_conflict, mode: WriteMode::Commit };
            request(sent, (parse("air"), LoadRequest { branch: parse("dev"), mode, options }));
        }
    }
    let outcomes = [RecoveryOutcome::RolledForward, RecoveryOutcome::RolledBack, RecoveryOutcome::Settled];
    for (number, outcome) in (1..).zip(outcomes) {
        let sent = v1::Recovery {
            operation_id: id(1),
            branch: s("dev"),
            writer: s("load"),
            outcome: number,
            create_time: moment(),
            ..v1::Recovery::default()
        };
        assert_eq!(v1::Recovery::from_wire(sent.clone()).unwrap().outcome, outcome);
        assert_eq!(v1::Recovery::to_wire(v1::Recovery::from_wire(sent.clone()).unwrap()), sent);
    }
    let kinds =
        [UnnamedKind::Data, UnnamedKind::TableVersion, UnnamedKind::State, UnnamedKind::Intent, UnnamedKind::Tree];
    for (number, kind) in (1..).zip(kinds) {
        for (old, age) in (1..).zip([FileAge::Hour, FileAge::Day, FileAge::Week, FileAge::Older]) {
            let message = v1::UnnamedFiles { kind: number, age: old, files: 1, bytes: 2 };
            answer(message, UnnamedFiles { kind, age, files: 1, bytes: 2 });
        }
    }
}
