//! Every problem there and back, and how large a status can get.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use omnigraph_types::{
    BranchName, CommitId, ConstraintKind, Diagnostic, Effect, Failure, MergeConflict, MergeConflictKind, OperationId,
    Phase, Problem, ReadSetMember, Resource, Retry, Span, Violation, WriterName,
};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use prost::{Message, Name};
use tonic::{Code, ConnectError, Status, TimeoutExpired};
use ulid::Ulid;

use super::trailers::{REASON_TRAILER, TRAILERS_BYTES_MAX};
use super::{from_rpc_status, from_status, to_rpc_status, to_status};
use crate::google::rpc;
use crate::v1;

/// Reasons of the contract, `UNSPECIFIED` apart, that the sample below must reach.
const REASONS: usize = 38;

fn commit(n: u128) -> CommitId {
    CommitId(Ulid::from(n))
}

/// One problem of each kind, made of the given texts.
fn problems(text: &str, branch: &str, items: usize) -> Vec<Problem> {
    let text = || text.to_owned();
    let texts = || vec![text(); items];
    let branch: BranchName = branch.parse().unwrap();
    let operation_id = OperationId(Ulid::from(9));
    let diagnostics = || {
        let span = Some(Span { start: 3, end: 5, line: 1, column: 4 });
        vec![Diagnostic { code: text(), message: text(), span, hint: Some(text()) }; items]
    };
    let violation = Violation {
        type_name: text(),
        entity: Some(text()),
        properties: texts(),
        kind: ConstraintKind::OrphanEdge,
        message: text(),
        source_row: Some(7),
    };
    let conflict = MergeConflict { kind: MergeConflictKind::DivergentUpdate, type_name: text(), entity: text() };
    let mut problems = vec![
        Problem::ReadSetChanged {
            branch: branch.clone(),
            member: ReadSetMember::Table(text()),
            expected: text(),
            actual: text(),
        },
        Problem::CommitContention { attempts: 3, winner: None },
        Problem::CommitContention { attempts: 3, winner: Some(commit(1)) },
        Problem::HeadMismatch { expected: commit(1), actual: commit(2) },
        Problem::RecoveryRequired {
            operation_id,
            branch,
            writer: WriterName::known("load"),
            phase: Phase::Publish,
            reason: text(),
        },
        Problem::KeyConflict { type_name: text(), ids: texts(), total: u64::MAX, source_row: Some(u64::MAX) },
        Problem::ConstraintViolation { violations: vec![violation; items], total: 100 },
        Problem::MergeConflicts { conflicts: vec![conflict; items], total: 100 },
        Problem::QueryInvalid { diagnostics: diagnostics() },
        Problem::SchemaInvalid { diagnostics: diagnostics() },
        Problem::SchemaUnsupported { steps: texts() },
        Problem::LiveBranches { branches: texts() },
        Problem::ResourceLimit { limit: text(), value: u64::MAX, asked: 2 },
        Problem::InvalidRequest { field: text() },
        Problem::ParamInvalid { parameter: text() },
        Problem::EvaluationFailed { column: text() },
        Problem::LoadInvalid { type_name: Some(text()), row: Some(1), column: Some(text()) },
        Problem::LoadInvalid { type_name: None, row: None, column: None },
        Problem::OperationIdReused { first_digest: text(), commit: None },
        Problem::OperationRolledBack { operation_id, reason: text() },
        Problem::TableOccupied { table: text(), expected: text(), found: text() },
        Problem::Unimplemented { feature: text() },
        Problem::Unauthenticated,
        Problem::PermissionDenied { action: text() },
        Problem::StorageUnavailable,
        Problem::StorageFormat { found: 1, supported: 2 },
        Problem::Corrupt { object: text(), expected: text() },
        Problem::InvariantViolation { object: text(), expected: text() },
        Problem::DeadlineExceeded,
        Problem::Cancelled,
        Problem::Internal,
    ];
    let resources =
        [Resource::Graph, Resource::Branch, Resource::Commit, Resource::Entity, Resource::Operation, Resource::Type];
    problems.extend(resources.map(|resource| Problem::NotFound { resource, name: text() }));
    problems.extend(resources.map(|resource| Problem::AlreadyExists { resource, name: text() }));
    problems
}

/// Bytes of all trailers, names and values, before base64.
fn trailer_bytes(status: &Status) -> usize {
    let mut headers = http::HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    let value_bytes = |name: &str, value: &[u8]| if name.ends_with("-bin") { value.len() * 3 / 4 } else { value.len() };
    headers.iter().map(|(name, value)| name.as_str().len() + value_bytes(name.as_str(), value.as_bytes())).sum()
}

fn error_info(status: &Status) -> rpc::ErrorInfo {
    let decoded = rpc::Status::decode(status.details()).unwrap();
    assert_eq!(decoded.details[0].type_url, "type.googleapis.com/google.rpc.ErrorInfo");
    rpc::ErrorInfo::decode(decoded.details[0].value.as_slice()).unwrap()
}

#[test]
fn every_problem_round_trips_with_its_effect_and_retry() {
    let mut reasons = std::collections::BTreeSet::new();
    for problem in problems("Airport", "feature/a", 2) {
        for (effect, retry, retry_after) in [
            (Effect::None, Retry::Never, None),
            (Effect::Committed, Retry::AfterReread, Some(Duration::from_millis(1_250))),
            (Effect::Unknown, Retry::SameRequest, Some(Duration::from_secs(1))),
        ] {
            let mut failure = Failure::new(problem.clone(), "airport \"OSL\": 100% wrong – ✈");
            (failure.effect, failure.retry, failure.retry_after) = (effect, retry, retry_after);
            failure.help = retry_after.map(|_| "omnigraph repair airline".to_owned());
            let status = to_status(&failure);
            let mut headers = http::HeaderMap::new();
            status.add_header(&mut headers).unwrap();
            let received = Status::from_header_map(&headers).unwrap();
            let decoded = from_status(&received);
            assert_eq!(decoded.problem, failure.problem);
            assert_eq!(decoded.message, failure.message);
            assert_eq!((decoded.effect, decoded.retry, decoded.retry_after), (effect, retry, retry_after));
            assert_eq!(decoded.help, failure.help);
            assert_eq!(from_rpc_status(&to_rpc_status(&failure)).problem, failure.problem);
            let info = error_info(&status);
            assert_eq!(info.domain, "omnigraph");
            assert_eq!(status.metadata().get(REASON_TRAILER).unwrap().to_str().unwrap(), info.reason);
            reasons.insert(info.reason);
        }
    }
    assert_eq!(reasons.len(), REASONS, "{reasons:?}");
    let declared = (1..).map_while(|number| crate::v1::ErrorReason::try_from(number).ok()).count();
    assert_eq!(declared, REASONS);
}

#[test]
fn status_has_the_code_the_trailers_and_the_order_of_the_contract() {
    let problem = Problem::NotFound { resource: Resource::Graph, name: "air".to_owned() };
    let status = to_status(&Failure::new(problem, "no graph \"air\""));
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(status.message(), "no graph \"air\"");
    let info = error_info(&status);
    assert_eq!(info.reason, "GRAPH_NOT_FOUND");
    assert_eq!(info.metadata["effect"], "none");
    assert_eq!(info.metadata["retry"], "never");
    assert_eq!(status.metadata().get("x-arrow-status").unwrap(), "2");
    let message = status.metadata().get_bin("x-arrow-status-message-bin").unwrap().to_bytes().unwrap();
    assert_eq!(&message[..], b"no graph \"air\"");

    let problem = Problem::RecoveryRequired {
        operation_id: OperationId(Ulid::from(1)),
        branch: BranchName::Main,
        writer: WriterName::known("load"),
        phase: Phase::Apply,
        reason: "store down".to_owned(),
    };
    let encoded = to_rpc_status(&Failure::new(problem, "open"));
    let types: Vec<_> = encoded.details.iter().map(|detail| detail.type_url.rsplit('/').next().unwrap()).collect();
    assert_eq!(types, ["google.rpc.ErrorInfo", "omnigraph.v1.RecoveryRequired", "google.rpc.RetryInfo"]);
}

/// A status whose one detail, besides the reason, is changed by `change`.
fn with_detail<M: Message + Name + Default>(problem: Problem, change: impl Fn(&mut M)) -> Problem {
    let mut encoded = to_rpc_status(&Failure::new(problem, "open"));
    let detail = encoded.details.iter_mut().find(|detail| detail.type_url.ends_with(&M::full_name())).unwrap();
    let mut message = M::decode(&*detail.value).unwrap();
    change(&mut message);
    detail.value = message.encode_to_vec();
    from_rpc_status(&encoded).problem
}

#[test]
fn word_of_a_newer_program_leaves_the_rest_of_a_detail() {
    let open = |writer: WriterName| Problem::RecoveryRequired {
        operation_id: OperationId(Ulid::from(1)),
        branch: BranchName::Main,
        writer,
        phase: Phase::Apply,
        reason: "store down".to_owned(),
    };
    let renamed = |detail: &mut v1::RecoveryRequired| detail.writer = "Load 2".to_owned();
    assert_eq!(with_detail(open(WriterName::known("load")), renamed), open(WriterName::UNKNOWN));
    let changed = |member: ReadSetMember| Problem::ReadSetChanged {
        branch: BranchName::Main,
        member,
        expected: "a".to_owned(),
        actual: "b".to_owned(),
    };
    let indexed = |detail: &mut v1::ReadSetConflict| detail.member = "index:P".to_owned();
    assert_eq!(with_detail(changed(ReadSetMember::Head), indexed), changed(ReadSetMember::Newer("index:P".to_owned())));
}

#[test]
fn long_lists_keep_the_first_items_and_the_total() {
    let ids: Vec<String> = (0..100).map(|n| format!("node-{n:060}")).collect();
    let problem =
        Problem::KeyConflict { type_name: "Airport".to_owned(), ids: ids.clone(), total: 100_000, source_row: None };
    let decoded = from_status(&to_status(&Failure::new(problem, "100000 ids exist")));
    let Problem::KeyConflict { ids: kept, total, .. } = decoded.problem else { panic!("{:?}", decoded.problem) };
    assert_eq!(kept, ids[..10]);
    assert_eq!(total, 100_000);
}

#[test]
fn status_of_a_broken_connection_says_whether_the_request_was_sent() {
    let local = |source: Arc<dyn StdError + Send + Sync>| {
        let mut status = Status::new(Code::Unavailable, "transport error");
        status.set_source(source);
        from_status(&status)
    };
    let refused = local(Arc::new(ConnectError("refused".into())));
    assert_eq!((refused.effect, refused.retry), (Effect::None, Retry::SameRequest));
    let slow = local(Arc::new(TimeoutExpired(())));
    assert_eq!((slow.problem, slow.effect), (Problem::DeadlineExceeded, Effect::Unknown));
    let broken = local(Arc::new(std::io::Error::other("reset")));
    assert_eq!((broken.effect, broken.retry), (Effect::Unknown, Retry::SameRequest));
}

#[test]
fn status_without_details_proves_no_more_than_its_code() {
    for (code, effect, retry) in [
        (Code::Unavailable, Effect::Unknown, Retry::SameRequest),
        (Code::Cancelled, Effect::Unknown, Retry::SameRequest),
        (Code::DeadlineExceeded, Effect::Unknown, Retry::SameRequest),
        (Code::Unknown, Effect::Unknown, Retry::Never),
        (Code::NotFound, Effect::Unknown, Retry::Never),
        (Code::Unauthenticated, Effect::None, Retry::Never),
        (Code::Unimplemented, Effect::None, Retry::Never),
    ] {
        let failure = from_status(&Status::new(code, "from a proxy"));
        assert_eq!((failure.effect, failure.retry), (effect, retry), "{code:?}");
        assert_eq!(failure.message, "from a proxy");
    }
    let foreign = rpc::Status { code: 14, message: "x".to_owned(), details: vec![prost_types::Any::default()] };
    assert_eq!(from_rpc_status(&foreign).effect, Effect::Unknown);
}

#[test]
fn reason_of_a_newer_contract_keeps_effect_and_retry() {
    let failure = Failure::new(Problem::Internal, "later");
    let mut encoded = to_rpc_status(&failure);
    let mut info = rpc::ErrorInfo::decode(encoded.details[0].value.as_slice()).unwrap();
    info.reason = "NOT_YET_KNOWN".to_owned();
    info.metadata.insert("effect".to_owned(), "none".to_owned());
    info.metadata.insert("retry".to_owned(), "after_reread".to_owned());
    encoded.code = Code::Aborted as i32;
    encoded.details[0].value = info.encode_to_vec();
    let decoded = from_rpc_status(&encoded);
    assert_eq!((decoded.effect, decoded.retry), (Effect::None, Retry::AfterReread));
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        ("[a✈%\"\u{1}]", 0..5_000_usize).prop_map(|(unit, times)| unit.repeat(times)),
        Just("✈".repeat(20_000)),
    ]
}

proptest! {
    #[test]
    fn status_of_any_failure_fits_and_keeps_its_reason(
        message in texts(),
        text in texts(),
        branch in "[^\\p{C}]{1,60}",
        items in 0..40_usize,
    ) {
        for problem in problems(&text, &branch, items) {
            let mut failure = Failure::new(problem, message.clone());
            failure.retry_after = Some(Duration::from_secs(1));
            failure.help = Some(format!("omnigraph repair g --branch '{text}'"));
            let status = to_status(&failure);
            assert!(trailer_bytes(&status) < TRAILERS_BYTES_MAX, "{}", trailer_bytes(&status));
            assert!(status.message().len() <= 1024);
            let info = error_info(&status);
            assert!(info.metadata.contains_key("effect") && info.metadata.contains_key("retry"));
            let decoded = from_status(&status);
            assert_eq!(std::mem::discriminant(&decoded.problem), std::mem::discriminant(&failure.problem));
        }
    }
}
