//! Writes that meet other writes.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use omnigraph_client::{Capture, LoadMode, LoadOptions, LoadTarget, OperationState, WriteOutcome};
use omnigraph_types::{BranchName, Effect, Failure, Phase, Problem, ReadSetMember, Retry};

use super::{SCHEMA, World, states};
use crate::support::{GRAPH, Server, append, client, create, graph_name, head, ndjson, refused, root, rows};

fn port(code: &str) -> String {
    format!("{{\"type\":\"Port\",\"data\":{{\"code\":\"{code}\"}}}}\n")
}

pub(super) async fn overwrite_of_a_type_that_changed_is_refused() -> Failure {
    let world = World::new(&[]).await;
    append(&world.client, &port("OSL")).await.unwrap();
    let codes = RecordBatch::try_from_iter([("code", Arc::new(StringArray::from(vec!["BGO"])) as ArrayRef)]).unwrap();
    let target = LoadTarget { graph: graph_name(), branch: BranchName::Main, type_name: "Port".to_owned() };
    let options = LoadOptions { capture: Capture::Wanted, ..LoadOptions::new(LoadMode::Overwrite) };
    let mut overwrite = world.client.load(target, codes.schema(), options).await.unwrap();
    overwrite.write(codes).await.unwrap();
    let captured = overwrite.captured().await.unwrap().id;
    assert_eq!(captured, head(&world.client).await);
    let winner = append(&world.client, &port("SVG")).await.unwrap();
    let failure = refused(overwrite.finish().await);
    let Problem::ReadSetChanged { branch, member, expected, actual } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((branch, member), (&BranchName::Main, &ReadSetMember::Table("Port".to_owned())));
    assert!(expected != actual && !expected.is_empty() && !actual.is_empty(), "{failure:?}");
    states(&failure, Effect::None, Retry::AfterReread);
    assert_eq!((head(&world.client).await, rows(&world.client, &["Port"]).await["Port"]), (winner.head, 2));
    failure
}

pub(super) async fn load_onto_another_head_than_expected_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let expected = head(&world.client).await;
    let actual = append(&world.client, &port("OSL")).await.unwrap().head;
    let options = LoadOptions { expected_head: Some(expected), ..LoadOptions::new(LoadMode::Append) };
    let failure = refused(ndjson(&world.client, options, &port("BGO")).await);
    assert_eq!(failure.problem, Problem::HeadMismatch { expected, actual });
    states(&failure, Effect::None, Retry::AfterReread);
    assert_eq!(head(&world.client).await, actual);
    failure
}

pub(super) async fn operation_id_of_another_request_is_refused() -> Failure {
    let world = World::new(&[]).await;
    let options = LoadOptions::new(LoadMode::Append);
    let first = ndjson(&world.client, options.clone(), &port("OSL")).await.unwrap();
    let failure = refused(ndjson(&world.client, options.clone(), &port("BGO")).await);
    let Problem::OperationIdReused { first_digest, commit } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((first_digest.len(), *commit), (64, Some(first.head)));
    states(&failure, Effect::None, Retry::Never);
    assert_eq!(ndjson(&world.client, options, &port("OSL")).await.unwrap().outcome, WriteOutcome::Replayed);
    failure
}

/// A second server of the same root wins while the first one is held before its ticket, and the first may lose no round.
pub(super) async fn load_that_loses_its_last_round_is_refused() -> Failure {
    let (root, signals) = (root(), root());
    let release = signals.path().join("release");
    let pause = format!("{GRAPH}/load.A.before=pause");
    let loser = Server::start(
        root.path(),
        &[
            ("OMNIGRAPH_FAILPOINTS", &pause),
            ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_str().unwrap()),
            ("OMNIGRAPH_COMMIT_ROUNDS_MAX", "1"),
        ],
    );
    let winner = Server::start(root.path(), &[]);
    let (losing, winning) = (client(&loser).await, client(&winner).await);
    create(&winning, SCHEMA).await;
    let load = tokio::spawn(async move { append(&losing, &port("OSL")).await });
    loser.logged("failpoint hit").await;
    let commit = append(&winning, &port("BGO")).await.unwrap().head;
    std::fs::write(&release, "").unwrap();
    let failure = refused(load.await.unwrap());
    assert_eq!(failure.problem, Problem::CommitContention { attempts: 1, winner: Some(commit) });
    states(&failure, Effect::None, Retry::SameRequest);
    assert!(failure.retry_after.is_some());
    assert_eq!((head(&winning).await, rows(&winning, &["Port"]).await["Port"]), (commit, 1));
    failure
}

/// Sends a load to a server that is killed once the load is armed.
async fn interrupt(root: &Path, options: LoadOptions) {
    let point = format!("{GRAPH}/load.A.after=kill");
    let victim = Server::start(root, &[("OMNIGRAPH_FAILPOINTS", &point)]);
    let client = client(&victim).await;
    create(&client, SCHEMA).await;
    ndjson(&client, options, &port("OSL")).await.unwrap_err();
    victim.kill9();
}

pub(super) async fn load_behind_an_interrupted_one_is_refused_in_time() -> Failure {
    let root = root();
    let interrupted = LoadOptions::new(LoadMode::Append);
    interrupt(root.path(), interrupted.clone()).await;
    let patience = [("OMNIGRAPH_RECOVERY_GRACE_MS", "600000"), ("OMNIGRAPH_TICKET_WAIT_MS", "200")];
    let server = Server::start(root.path(), &patience);
    server.logged("every branch is examined").await;
    let client = client(&server).await;
    let failure = refused(append(&client, &port("BGO")).await);
    let Problem::RecoveryRequired { operation_id, branch, writer, phase, reason } = &failure.problem else {
        panic!("{failure:?}")
    };
    assert_eq!((*operation_id, branch, writer.as_str()), (interrupted.operation_id, &BranchName::Main, "load"));
    assert!(matches!(phase, Phase::Apply) && !reason.is_empty(), "{failure:?}");
    states(&failure, Effect::None, Retry::SameRequest);
    assert!(failure.retry_after.is_some());
    assert_eq!(rows(&client, &["Port"]).await["Port"], 0);
    failure
}

pub(super) async fn interrupted_operation_is_reported_as_rolled_back() -> Failure {
    let root = root();
    let interrupted = LoadOptions::new(LoadMode::Append);
    interrupt(root.path(), interrupted.clone()).await;
    let server = Server::start(root.path(), &[("OMNIGRAPH_RECOVERY_GRACE_MS", "100")]);
    let client = client(&server).await;
    append(&client, &port("BGO")).await.unwrap();
    let operation = client.get_operation(&graph_name(), &BranchName::Main, interrupted.operation_id).await.unwrap();
    let OperationState::RolledBack(failure) = operation.state else { panic!("{:?}", operation.state) };
    let Problem::OperationRolledBack { operation_id, reason } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!(*operation_id, interrupted.operation_id);
    assert!(!reason.is_empty());
    states(&failure, Effect::None, Retry::SameRequest);
    assert_eq!(rows(&client, &["Port"]).await["Port"], 1);
    let again = ndjson(&client, interrupted, &port("OSL")).await.unwrap();
    assert_eq!(again.outcome, WriteOutcome::Committed);
    *failure
}
