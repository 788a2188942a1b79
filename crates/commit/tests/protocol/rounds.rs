//! Writes that meet other writes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use omnigraph_catalog::Snapshot;
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, Committer, ConflictPolicy, FailPoints, OperationState, ReadSet, WriteOutcome,
    WriteRequest, Writer, WriterPoints,
};
use omnigraph_storage::StoreCall;
use omnigraph_testkit::{FaultHook, FaultPlan};
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Problem, ReadSetMember, Retry};
use tokio::task::JoinHandle;
use ulid::Ulid;

use crate::world::{Append, Clear, TABLES, World, fresh, request};

fn committed(outcome: WriteOutcome) -> omnigraph_catalog::CommitRow {
    match outcome {
        WriteOutcome::Committed(row) => row,
        other => panic!("expected a commit, got {other:?}"),
    }
}

fn replayed(outcome: WriteOutcome) -> omnigraph_catalog::CommitRow {
    match outcome {
        WriteOutcome::Replayed(row) => row,
        other => panic!("expected a receipt, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resent_operation_gets_its_receipt_from_any_process() {
    let world = World::new().await;
    let (first, second) = (world.process().await, world.process().await);
    let operation = fresh();
    let row = committed(first.append(operation, "a", &TABLES).await.unwrap());
    assert_eq!(replayed(first.append(operation, "a", &TABLES).await.unwrap()), row);
    assert_eq!(replayed(second.append(operation, "a", &TABLES).await.unwrap()), row);
    let state = second.committer.operation(&BranchName::Main, operation).await.unwrap();
    assert_eq!(state, OperationState::Committed(Box::new(row)));
    assert_eq!(world.quiesced().await[0].len(), 1);
}

/// Before its intent is stored, only the process that is busy with an operation can know of it.
#[tokio::test(flavor = "multi_thread")]
async fn operation_is_in_progress_while_its_process_arms_it() {
    let world = World::new().await;
    let hook = Arc::new(FaultHook::default());
    let owner = world.process_with(vec![hook.clone()], FailPoints::default()).await;
    let other = world.process().await;
    let mut pause = hook.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
    let operation = fresh();
    let asking = async {
        pause.reached().await;
        let here = owner.committer.operation(&BranchName::Main, operation).await.unwrap();
        let there = other.committer.operation(&BranchName::Main, operation).await.unwrap();
        pause.release();
        (here, there)
    };
    let (written, (here, there)) = tokio::join!(owner.append(operation, "mine", &TABLES), asking);
    assert_eq!((here, there), (OperationState::InProgress, OperationState::Unknown));
    let row = committed(written.unwrap());
    let state = owner.committer.operation(&BranchName::Main, operation).await.unwrap();
    assert_eq!(state, OperationState::Committed(Box::new(row)));
    // What is refused is not busy for ever.
    let refused = fresh();
    hook.fail(FaultPlan::next(StoreCall::PutIfAbsent, "__recovery"));
    owner.append(refused, "other", &TABLES).await.unwrap_err();
    let state = owner.committer.operation(&BranchName::Main, refused).await.unwrap();
    assert_eq!(state, OperationState::Unknown);
}

/// A write under way.
type Write = JoinHandle<Result<WriteOutcome, Failure>>;

/// A writer so slow that a quick one commits whenever it has prepared.
struct Outrun {
    inner: Append,
    committer: Committer,
    quick: Arc<Mutex<Vec<Write>>>,
}

#[async_trait]
impl Writer for Outrun {
    fn name(&self) -> WriterPoints {
        self.inner.name()
    }

    fn kind(&self) -> ChangeKind {
        self.inner.kind()
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        self.inner.conflict_policy()
    }

    fn captured(&self) -> Option<&Snapshot> {
        self.inner.captured()
    }

    fn read_set(&self, base: &Snapshot) -> ReadSet {
        self.inner.read_set(base)
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let prepared = self.inner.prepare(base, attempt).await?;
        let committer = self.committer.clone();
        let (store, id) = (self.inner.store.clone(), fresh());
        let append = Box::new(Append { store, rows: vec![(TABLES[0], id.to_string())] });
        let mut quick = tokio::spawn(async move { committer.write(request(id), append).await });
        let before = self.quick.lock().unwrap().len();
        match before {
            0 | 1 => drop((&mut quick).await),
            // In its turn the slow one is not outrun, whatever it waits.
            _ => drop(tokio::time::timeout(Duration::from_millis(500), &mut quick).await),
        }
        self.quick.lock().unwrap().push(quick);
        Ok(prepared)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_writer_is_not_starved_by_quick_ones() {
    let world = World::new().await;
    let process = world.process().await;
    let quick = Arc::default();
    let inner = *process.appending("slow", &TABLES);
    let writer = Outrun { inner, committer: process.committer.clone(), quick: Arc::clone(&quick) };
    committed(process.committer.write(request(fresh()), Box::new(writer)).await.unwrap());
    let quick: Vec<_> = quick.lock().unwrap().drain(..).collect();
    assert_eq!(quick.len(), 3, "two rounds are lost, and the third is the slow writer's turn");
    // The last one had to wait; the others were awaited where they were started.
    for last in quick.into_iter().skip(2) {
        committed(last.await.unwrap().unwrap());
    }
    let ids = world.quiesced().await;
    assert_eq!((ids[0].len(), ids[1].len()), (4, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_id_with_another_digest_is_refused() {
    let world = World::new().await;
    let process = world.process().await;
    let operation = fresh();
    let row = committed(process.append(operation, "a", &TABLES).await.unwrap());
    let other = WriteRequest { digest: "other".to_owned(), ..request(operation) };
    let writer = process.appending("b", &TABLES[..1]);
    let failure = process.committer.write(other, writer).await.unwrap_err();
    let expected = Problem::OperationIdReused { first_digest: "digest".to_owned(), commit: Some(row.id) };
    assert_eq!(failure.problem, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn operation_id_far_from_the_clock_is_refused() {
    let world = World::new().await;
    let process = world.process().await;
    let old = OperationId(Ulid::from_parts(fresh().timestamp_ms() - 9 * 86_400_000, 1));
    let failure = process.append(old, "a", &TABLES).await.unwrap_err();
    assert_eq!(failure.problem, Problem::InvalidRequest { field: "operation_id".to_owned() });
}

#[tokio::test(flavor = "multi_thread")]
async fn expected_head_that_has_moved_is_refused_with_both_heads() {
    let world = World::new().await;
    let process = world.process().await;
    let expected = process.newest().await.head();
    let actual = committed(process.append(fresh(), "a", &TABLES).await.unwrap()).id;
    let strict = WriteRequest { expected_head: Some(expected), ..request(fresh()) };
    let writer = process.appending("b", &TABLES[..1]);
    let failure = process.committer.write(strict, writer).await.unwrap_err();
    assert_eq!(failure.problem, Problem::HeadMismatch { expected, actual });
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_appending_at_once_lose_nothing_and_double_nothing() {
    let world = World::new().await;
    let processes = [world.polite_process().await, world.polite_process().await];
    let writes = (0..12).map(|n| {
        let process = &processes[n % 2];
        async move {
            let id = format!("row-{n}");
            committed(process.append(fresh(), &id, &TABLES[..1 + n % 2]).await.unwrap())
        }
    });
    let rows = join_all(writes).await;
    let versions: std::collections::BTreeSet<_> = rows.iter().map(|row| row.version).collect();
    assert_eq!(versions.len(), 12, "I-3: one commit per version");
    assert_eq!(world.quiesced().await[0].len(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_operation_sent_to_two_processes_at_once_is_one_commit() {
    let world = World::new().await;
    let processes = [world.polite_process().await, world.polite_process().await];
    let operation = fresh();
    let both = join_all(processes.iter().map(|process| process.append(operation, "a", &TABLES))).await;
    let ids: Vec<_> = both
        .into_iter()
        .map(|outcome| match outcome.unwrap() {
            WriteOutcome::Committed(row) | WriteOutcome::Replayed(row) => row.id,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(world.quiesced().await[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn overwrite_whose_base_moved_gets_read_set_changed() {
    let world = World::new().await;
    let (mine, other) = (world.process().await, world.process().await);
    let captured = mine.newest().await;
    committed(other.append(fresh(), "a", &TABLES[..1]).await.unwrap());
    let overwrite =
        |table| mine.committer.write(request(fresh()), Box::new(Clear { table, captured: captured.clone() }));
    let failure = overwrite(TABLES[0]).await.unwrap_err();
    let Problem::ReadSetChanged { branch, member, expected, actual } = failure.problem else {
        panic!("{failure:?}");
    };
    assert_eq!((branch, member), (BranchName::Main, ReadSetMember::Table("A".to_owned())));
    assert_ne!(expected, actual);
    assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::AfterReread));
    // A table that nobody touched is overwritten all the same.
    committed(overwrite(TABLES[1]).await.unwrap());
    assert_eq!(world.quiesced().await[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_is_found_after_the_operation_left_the_window() {
    let world = World::new().await;
    let process = world.process().await;
    let operation = fresh();
    let first = committed(process.append(operation, "first", &TABLES).await.unwrap());
    for n in 0..60 {
        committed(process.append(fresh(), &format!("row-{n}"), &TABLES[..1]).await.unwrap());
    }
    let newest = process.newest().await;
    assert!(newest.state().publications.len() <= 48);
    assert!(!newest.state().history.is_empty());
    let other = world.process().await;
    assert_eq!(replayed(other.append(operation, "first", &TABLES).await.unwrap()), first);
    let all = other.committer.catalog().list_commits(&BranchName::Main, None, 256).await.unwrap();
    assert_eq!(all.len(), 62);
    assert!(all.windows(2).all(|pair| pair[0].parents == vec![pair[1].id] && pair[0].time_ms > pair[1].time_ms));
    let page = other.committer.catalog().list_commits(&BranchName::Main, Some(all[9].id), 5).await.unwrap();
    assert_eq!(page, all[10..15]);
}

#[tokio::test(flavor = "multi_thread")]
async fn caller_who_goes_away_leaves_no_half_of_a_write() {
    let world = World::new().await;
    let process = world.process().await;
    let operation = fresh();
    let write = process.append(operation, "a", &TABLES);
    // Long enough to arm or not, on any machine: whatever it was, the outcome is whole.
    let _ = tokio::time::timeout(Duration::from_millis(15), write).await;
    let other = world.process().await;
    let outcome = other.append(operation, "a", &TABLES).await.unwrap();
    assert!(matches!(outcome, WriteOutcome::Committed(_) | WriteOutcome::Replayed(_)), "{outcome:?}");
    let ids = world.quiesced().await;
    assert_eq!((ids[0].len(), ids[1].len()), (1, 1));
}
