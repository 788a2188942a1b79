//! Every value of the vocabulary there and back, and what is refused.

mod golden;
mod values;

use std::fmt::Debug;

use omnigraph_types::{
    BranchName, BranchReceipt, CheckKind, CheckSeverity, CommitKind, Failure, FileAge, LimitUnit, LoadMode, Operation,
    OperationState, Problem, ReadAt, RecoveryOutcome, RepairState, TableDamage, TableVersion, TransactionKind,
    UnnamedKind, WriteOutcome,
};
use proptest::prelude::proptest;
use prost_types::Timestamp;

use super::common::{load_mode_from_wire, read_at_from_wire};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;
use values::{
    branch_info, branch_name, check_part, column_info, commit, commit_id, create_branch, create_graph, delete_branch,
    delete_graph, graph_info, graph_name, graph_receipt, list_tables, load_request, loaded_rows, operation_id, page,
    page_of, query_header, query_request, read_at, recovery, repair, repair_part, result_format, running_query,
    schema_info, server_info, table_page, type_load, type_load_answer, type_scan, write_receipt,
};

/// A request there and back, through its bytes.
fn request<M: RequestCodec<Value: Clone + PartialEq + Debug> + prost::Message + Default>(value: M::Value) {
    let message = M::decode(M::to_wire(value.clone()).encode_to_vec().as_slice()).unwrap();
    assert_eq!(M::from_wire(message).unwrap(), value);
}

/// An answer there and back, through its bytes.
fn answer<M: AnswerCodec<Value: Clone + PartialEq + Debug> + prost::Message + Default>(value: M::Value) {
    let message = M::decode(M::to_wire(value.clone()).encode_to_vec().as_slice()).unwrap();
    assert_eq!(M::from_wire(message).unwrap(), value);
}

proptest! {
    #[test]
    fn requests_about_graphs_round_trip(
        create in create_graph(), delete in delete_graph(), graph in graph_name(), page in page(), at in read_at(),
    ) {
        request::<v1::CreateGraphRequest>(create);
        request::<v1::DeleteGraphRequest>(delete);
        request::<v1::GetGraphRequest>(graph.clone());
        request::<v1::ListGraphsRequest>(page);
        request::<v1::GetSchemaRequest>((graph, at));
    }

    #[test]
    fn lists_of_tables_round_trip(graph in graph_name(), list in list_tables(), page in table_page()) {
        request::<v1::ListTablesRequest>((graph, list));
        answer::<v1::ListTablesResponse>(page);
    }

    #[test]
    fn requests_about_branches_round_trip(
        graph in graph_name(), create in create_branch(), delete in delete_branch(), branch in branch_name(), page in page(),
    ) {
        request::<v1::CreateBranchRequest>((graph.clone(), create));
        request::<v1::DeleteBranchRequest>((graph.clone(), delete));
        request::<v1::GetBranchRequest>((graph.clone(), branch));
        request::<v1::ListBranchesRequest>((graph, page));
    }

    #[test]
    fn requests_about_history_round_trip(
        graph in graph_name(), branch in branch_name(), page in page(), commit in commit_id(), operation in operation_id(),
    ) {
        request::<v1::GetCommitRequest>((graph.clone(), commit));
        request::<v1::ListCommitsRequest>((graph.clone(), branch.clone(), page.clone()));
        request::<v1::GetOperationRequest>((graph.clone(), branch.clone(), operation));
        request::<v1::ListRecoveriesRequest>((graph.clone(), branch.clone(), page));
        request::<v1::RecoverRequest>((graph.clone(), branch.clone()));
        request::<v1::CheckGraphRequest>((graph.clone(), Some(branch)));
        request::<v1::CheckGraphRequest>((graph, None));
    }

    #[test]
    fn requests_to_load_read_and_repair_round_trip(
        graph in graph_name(), load in load_request(), put in type_load(), query in query_request(),
        format in result_format(), scan in type_scan(), repair in repair(),
    ) {
        request::<v1::LoadRowsHeader>((graph.clone(), load));
        request::<v1::LoadCommand>((graph.clone(), put));
        request::<v1::QueryRequest>((graph.clone(), query.clone(), format));
        request::<v1::QueryTicket>((graph.clone(), query));
        request::<v1::TableTicket>((graph.clone(), scan));
        request::<v1::RepairRequest>((graph, repair));
    }

    #[test]
    fn answers_about_graphs_and_branches_round_trip(
        info in graph_info(), receipt in graph_receipt(), graphs in page_of(graph_info()), operation in operation_id(),
        branch in branch_info(), branches in page_of(branch_info()),
    ) {
        answer::<v1::GetGraphResponse>(info);
        answer::<v1::CreateGraphResponse>(receipt);
        answer::<v1::ListGraphsResponse>(graphs);
        answer::<v1::DeleteGraphResponse>(operation);
        answer::<v1::GetBranchResponse>(branch.clone());
        answer::<v1::ListBranchesResponse>(branches);
        answer::<v1::CreateBranchResponse>(BranchReceipt { operation_id: operation, branch: Some(branch) });
        answer::<v1::DeleteBranchResponse>(BranchReceipt { operation_id: operation, branch: None });
    }

    #[test]
    fn answers_about_history_round_trip(
        one in commit(), commits in page_of(commit()), recoveries in page_of(recovery()), info in server_info(),
        loaded in loaded_rows(), put in type_load_answer(),
    ) {
        answer::<v1::GetCommitResponse>(one);
        answer::<v1::ListCommitsResponse>(commits);
        answer::<v1::ListRecoveriesResponse>(recoveries.clone());
        answer::<v1::RecoverResponse>(recoveries.items);
        answer::<v1::GetServerInfoResponse>(info);
        answer::<v1::LoadRowsResponse>(loaded);
        answer::<v1::LoadResult>(put);
    }

    #[test]
    fn answers_of_checks_repairs_and_reads_round_trip(
        check in check_part(), repair in repair_part(), schema in schema_info(), header in query_header(),
        column in column_info(),
    ) {
        answer::<v1::CheckGraphResponse>(check);
        answer::<v1::RepairResponse>(repair);
        answer::<v1::GetSchemaResponse>(schema);
        answer::<v1::QueryHeader>(header);
        answer::<v1::Column>(column);
    }

    #[test]
    fn queries_of_a_server_round_trip(queries in proptest::collection::vec(running_query(), 0..3), one in running_query()) {
        request::<v1::ListQueriesRequest>(());
        request::<v1::CancelQueryRequest>(one.id);
        answer::<v1::ListQueriesResponse>(queries);
        answer::<v1::CancelQueryResponse>(one);
    }

    #[test]
    fn operation_that_is_committed_round_trips(
        id in operation_id(), graph in graph_name(), branch in branch_name(), receipt in write_receipt(),
    ) {
        let state = OperationState::Committed(Box::new(receipt.clone()));
        let operation = Operation { id, graph: graph.clone(), branch: branch.clone(), state };
        let decoded = v1::GetOperationResponse::from_wire(v1::GetOperationResponse::to_wire(operation)).unwrap();
        assert_eq!((decoded.id, decoded.graph, decoded.branch), (id, graph, branch));
        let OperationState::Committed(decoded) = decoded.state else { panic!("{:?}", decoded.state) };
        assert_eq!(*decoded, receipt);
    }

    #[test]
    fn operation_without_a_receipt_round_trips(id in operation_id(), graph in graph_name(), reason in "[a-z]{1,9}") {
        let rolled_back = Problem::OperationRolledBack { operation_id: id, reason };
        let failure = || Box::new(Failure::new(rolled_back.clone(), "undone"));
        let states = [
            OperationState::Unknown,
            OperationState::InProgress,
            OperationState::RolledBack(failure()),
            OperationState::InDoubt(failure()),
        ];
        for state in states {
            let expected = std::mem::discriminant(&state);
            let operation = Operation { id, graph: graph.clone(), branch: BranchName::Main, state };
            let decoded = v1::Operation::from_wire(v1::Operation::to_wire(operation)).unwrap();
            assert_eq!(std::mem::discriminant(&decoded.state), expected);
            if let OperationState::RolledBack(failure) | OperationState::InDoubt(failure) = decoded.state {
                assert_eq!(failure.problem, rolled_back);
            }
        }
    }
}

fn field_of<T: Debug>(refused: Result<T, Failure>) -> String {
    match refused.unwrap_err().problem {
        Problem::InvalidRequest { field } => field,
        other => panic!("{other:?}"),
    }
}

#[test]
fn read_without_a_point_sees_the_head_of_main() {
    assert_eq!(read_at_from_wire("at", None).unwrap(), ReadAt::Branch(BranchName::Main));
}

#[test]
fn request_is_refused_with_the_path_of_its_field() {
    assert_eq!(field_of(read_at_from_wire("at", Some(v1::ReadPoint { point: None }))), "at");
    let time = Some(Timestamp { seconds: -1, nanos: 0 });
    let point = v1::read_point::Point::BranchAtTime(v1::BranchAtTime { branch: "main".to_owned(), time });
    let at = Some(v1::ReadPoint { point: Some(point) });
    assert_eq!(field_of(read_at_from_wire("source", at)), "source.branch_at_time.time");
    assert_eq!(field_of(v1::GetGraphRequest::from_wire(v1::GetGraphRequest { graph: "A".to_owned() })), "graph");
    let command = v1::LoadCommand { graph: "a".to_owned(), load_id: "x".to_owned(), ..v1::LoadCommand::default() };
    assert_eq!(field_of(v1::LoadCommand::from_wire(command)), "load_id");
}

#[test]
fn load_without_a_mode_of_the_contract_is_refused() {
    assert_eq!(field_of(load_mode_from_wire("mode", 0)), "mode");
    assert_eq!(field_of(load_mode_from_wire("mode", 99)), "mode");
    assert_eq!(load_mode_from_wire("mode", 1).unwrap(), LoadMode::Append);
}

#[test]
fn answer_without_what_the_contract_requires_is_malformed() {
    let nothing = v1::GetCommitResponse::from_wire(v1::GetCommitResponse { commit: None }).unwrap_err();
    assert_eq!(nothing, MalformedAnswer { field: "GetCommitResponse.commit" });
    let nameless = v1::GetGraphResponse { graph: Some(v1::Graph::default()) };
    assert_eq!(v1::GetGraphResponse::from_wire(nameless).unwrap_err(), MalformedAnswer { field: "Graph.graph" });
    let silent = v1::LoadRowsResponse::from_wire(v1::LoadRowsResponse::default()).unwrap_err();
    assert_eq!(silent, MalformedAnswer { field: "LoadRowsResponse.receipt" });
}

#[test]
fn kinds_of_a_newer_program_are_decoded_as_newer() {
    for (severity, expected) in
        [(1, CheckSeverity::MendsItself), (2, CheckSeverity::NeedsPerson), (0, CheckSeverity::NeedsPerson)]
    {
        let finding = v1::CheckFinding { kind: 99, severity, ..v1::CheckFinding::default() };
        assert_eq!(v1::CheckFinding::from_wire(finding).unwrap().kind, CheckKind::Newer(expected));
    }
    // A kind that this program knows, and judges otherwise.
    let finding = v1::CheckFinding { kind: 1, severity: 2, ..v1::CheckFinding::default() };
    let judged = v1::CheckFinding::from_wire(finding).unwrap().kind;
    assert_eq!(judged, CheckKind::Newer(CheckSeverity::NeedsPerson), "the server's severity counts");
    let recovery = v1::Recovery {
        operation_id: "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".to_owned(),
        branch: "main".to_owned(),
        writer: "load".to_owned(),
        outcome: 99,
        create_time: Some(Timestamp::default()),
        ..v1::Recovery::default()
    };
    assert_eq!(v1::Recovery::from_wire(recovery).unwrap().outcome, RecoveryOutcome::Newer);
}

#[test]
fn unknown_numbers_leave_the_rest_of_an_answer() {
    let counts = v1::TypeCounts { kind: 99, inserted: 3, ..v1::TypeCounts::default() };
    let counts = v1::TypeCounts::from_wire(counts).unwrap();
    assert_eq!((counts.kind, counts.inserted), (None, 3));
    let id = || "01JZ8Q6Y3V5B7N9D1F3H5K7M9P".to_owned();
    let receipt = v1::WriteReceipt { operation_id: id(), head: id(), outcome: 99, ..v1::WriteReceipt::default() };
    let loaded = v1::LoadRowsResponse { receipt: Some(receipt), rows_read: 4, bytes_read: 5 };
    assert_eq!(v1::LoadRowsResponse::from_wire(loaded).unwrap().receipt.outcome, WriteOutcome::Newer);

    let result = v1::RepairResult { operation_id: id(), state: 99, ..v1::RepairResult::default() };
    assert_eq!(v1::RepairResult::from_wire(result).unwrap().state, RepairState::Newer);
    let found = v1::FoundTransaction { kind: 99, ..v1::FoundTransaction::default() };
    assert_eq!(v1::FoundTransaction::from_wire(found).unwrap().kind, TransactionKind::Other(String::new()));
    let table = v1::TableToRepair { damage: 99, damaged_version: 7, ..v1::TableToRepair::default() };
    assert_eq!(v1::TableToRepair::from_wire(table).unwrap().damage, Some((TableVersion(7), TableDamage::Newer)));
    let files = v1::UnnamedFiles { kind: 99, age: 99, files: 1, bytes: 2 };
    let files = v1::UnnamedFiles::from_wire(files).unwrap();
    assert_eq!((files.kind, files.age), (UnnamedKind::Newer, FileAge::Newer));
    let limit = v1::Limit { unit: 99, ..v1::Limit::default() };
    assert_eq!(v1::Limit::from_wire(limit).unwrap().unit, LimitUnit::Newer);
    let commit = v1::Commit {
        commit_id: id(),
        graph: "air".to_owned(),
        branch: "main".to_owned(),
        create_time: Some(Timestamp::default()),
        operation_id: id(),
        kind: 99,
        ..v1::Commit::default()
    };
    assert_eq!(v1::Commit::from_wire(commit).unwrap().kind, CommitKind::Newer);
}

#[test]
fn repair_that_only_validates_is_not_confirmed() {
    let request = v1::RepairRequest {
        graph: "a".to_owned(),
        branch: "main".to_owned(),
        confirmation: "c".to_owned(),
        validate_only: true,
        ..v1::RepairRequest::default()
    };
    let (_, repair) = v1::RepairRequest::from_wire(request).unwrap();
    assert_eq!(repair.confirmation, omnigraph_types::Confirmation::None);
}
