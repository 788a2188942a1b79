//! Every reason of the contract: provoked through the network with its fields checked, or listed with the reason why it cannot occur.

mod data;
mod names;
mod store;
mod texts;
mod wire;
mod writes;

use std::collections::BTreeSet;

use omnigraph_client::Client;
use omnigraph_types::{Effect, Failure, Retry};
use omnigraph_wire::v1::ErrorReason;

use crate::support::{Server, client, create, reason, root};

/// A schema with a rule of every kind.
const SCHEMA: &str = r#"
node Port {
  code: String @key
  country: enum(no, dk)?
  depth: F64?
  name: String? @unique
  tons: I64?
  sketch: Vector(2)?
  @range(depth, 0..60)
  @check(code, "^[A-Z]+$")
}
edge Ferry: Port -> Port @card(0..1) { minutes: I32 }
"#;

/// A server with an empty graph `g`.
struct World {
    server: Server,
    client: Client,
    root: tempfile::TempDir,
}

impl World {
    async fn new(variables: &[(&str, &str)]) -> Self {
        let root = root();
        let server = Server::start(root.path(), variables);
        let client = client(&server).await;
        create(&client, SCHEMA).await;
        Self { server, client, root }
    }
}

/// Checks the effect of a failure and what the caller does next.
#[track_caller]
fn states(failure: &Failure, effect: Effect, retry: Retry) {
    assert_eq!((failure.effect, failure.retry), (effect, retry), "{failure:?}");
    assert!(!failure.message.is_empty());
}

/// Each situation returns the failure that the network brought, with its fields checked; here its reason is checked.
macro_rules! provoked {
    ($($reason:ident: $module:ident::$situation:ident,)*) => {
        /// The reasons that a test below provokes.
        const PROVOKED: &[ErrorReason] = &[$(ErrorReason::$reason),*];

        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $situation() {
                let failure = $module::$situation().await;
                assert_eq!(reason(&failure), ErrorReason::$reason, "{failure:?}");
            }
        )*
    };
}

provoked! {
    ReadSetChanged: writes::overwrite_of_a_type_that_changed_is_refused,
    HeadMismatch: writes::load_onto_another_head_than_expected_is_refused,
    OperationIdReused: writes::operation_id_of_another_request_is_refused,
    CommitContention: writes::load_that_loses_its_last_round_is_refused,
    RecoveryRequired: writes::load_behind_an_interrupted_one_is_refused_in_time,
    OperationRolledBack: writes::interrupted_operation_is_reported_as_rolled_back,
    KeyConflict: data::key_that_exists_is_refused,
    ConstraintViolation: data::row_that_breaks_a_rule_is_refused,
    LoadInvalid: data::line_that_is_not_a_row_is_refused,
    ResourceLimit: data::merge_over_the_limit_is_refused,
    GraphNotFound: names::graph_that_is_not_there_is_refused,
    BranchNotFound: names::branch_that_is_not_there_is_refused,
    CommitNotFound: names::commit_that_is_not_there_is_refused,
    TypeNotFound: names::type_that_is_not_there_is_refused,
    OperationNotFound: names::query_that_does_not_run_is_refused,
    GraphExists: names::graph_that_exists_is_refused,
    BranchExists: names::branch_that_exists_is_refused,
    InvalidRequest: names::branch_name_that_is_none_is_refused,
    Unimplemented: names::call_that_is_not_offered_is_refused,
    QueryInvalid: texts::query_with_a_mistake_is_refused_at_its_place,
    SchemaInvalid: texts::schema_with_a_mistake_is_refused_at_its_place,
    EvaluationFailed: texts::sum_beyond_the_range_of_its_type_is_refused,
    ParamInvalid: texts::parameter_that_is_missing_is_refused,
    DeadlineExceeded: wire::call_over_its_deadline_is_refused,
    Cancelled: wire::body_that_breaks_off_is_refused,
    StorageUnavailable: store::load_that_cannot_spill_is_refused,
    StorageFormat: store::graph_of_another_format_is_refused,
    Corrupt: store::torn_intent_is_refused,
    OperationRolledBack: store::write_that_the_store_fails_is_reported_as_undone,
    TableOccupied: store::table_with_a_foreign_commit_is_refused,
}

/// The reasons that no call through the network can cause, and why.
const NOT_PROVOKED: &[(ErrorReason, &str)] = &[
    (ErrorReason::Unspecified, "means a reason that a client does not know; a server sends none"),
    (ErrorReason::MergeConflict, "MergeBranch is not offered"),
    (ErrorReason::SchemaUnsupported, "ApplySchema is not offered"),
    (ErrorReason::LiveBranches, "ApplySchema is not offered"),
    (ErrorReason::EntityNotFound, "GetEntity and ReadBlob are not offered"),
    (ErrorReason::ResourceExists, "graphs and branches are all that can be made, and they have reasons of their own"),
    (ErrorReason::Unauthenticated, "a server takes no credentials"),
    (ErrorReason::PermissionDenied, "a server takes no credentials, so all callers are one"),
    (ErrorReason::Internal, "only a defect leads to it"),
    (ErrorReason::InvariantViolation, "only a defect, or a hand in the store that knows the protocol, leads to it"),
];

/// Numbers that are asked for a reason; the contract's own are far below.
const NUMBERS_MAX: i32 = 1_000;

#[test]
fn every_reason_of_the_contract_is_provoked_or_says_why_not() {
    let provoked: BTreeSet<i32> = PROVOKED.iter().map(|reason| i32::from(*reason)).collect();
    let listed: BTreeSet<i32> = NOT_PROVOKED.iter().map(|(reason, _)| i32::from(*reason)).collect();
    let all: BTreeSet<i32> = (0..NUMBERS_MAX).filter(|number| ErrorReason::try_from(*number).is_ok()).collect();
    let names = |numbers: Vec<&i32>| -> Vec<&str> {
        numbers.into_iter().map(|number| ErrorReason::try_from(*number).unwrap().as_str_name()).collect()
    };
    let forgotten: Vec<_> =
        all.iter().filter(|number| !provoked.contains(number) && !listed.contains(number)).collect();
    assert_eq!(names(forgotten), [""; 0], "neither provoked nor listed");
    assert_eq!(names(provoked.intersection(&listed).collect()), [""; 0], "provoked, and listed as not");
}
