//! Change sets beyond one transaction per table: effects of two transactions, pins taken over from another branch, and publications that
//! answer several operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use omnigraph_catalog::{
    Change, CommitOperation, CommitRow, DecidedBy, OperationEntry, Operations, Precondition, Publication,
    PublicationKind, Snapshot, TableRow,
};
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, ConflictPolicy, Effect, FailPoints, HeadRead, Intent, OperationState, ReadSet,
    RowCounts, RowsChange, Staged, StagedEffect, TableChange, Token, WriteOutcome, WriteRequest, Writer, WriterPoints,
};
use omnigraph_storage::{AfterVerdict, HookVerdict, Store, StoreCall, StoreHook, StoreReply};
use omnigraph_testkit::{node_batch, staged_rows};
use omnigraph_types::{AttemptId, BranchName, Clock, CommitId, CommitKind, Failure, OperationId, Problem, SystemClock};

use crate::branches::{create, named, row};
use crate::world::{LOAD, Process, TABLES, World, fresh, request};

/// Dies before put number `nth` of a version of the first table, counted from 1; or before the graph's, after all of those.
#[derive(Debug)]
struct DeathAtVersion {
    path_part: &'static str,
    nth: usize,
    seen: AtomicUsize,
    dead: AtomicBool,
}

#[async_trait]
impl StoreHook for DeathAtVersion {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        let counts = call == StoreCall::PutIfAbsent && path.contains(self.path_part) && path.contains("_versions");
        if counts && self.seen.fetch_add(1, Ordering::SeqCst) + 1 >= self.nth {
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.dead.load(Ordering::SeqCst) { HookVerdict::Fail } else { HookVerdict::Proceed }
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

/// Adds two rows to the first table, in two transactions.
struct TwoSteps {
    store: Store,
}

#[async_trait]
impl Writer for TwoSteps {
    fn name(&self) -> WriterPoints {
        LOAD
    }

    fn kind(&self) -> ChangeKind {
        ChangeKind::Commit(CommitKind::Load)
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        ConflictPolicy::PrepareAgain
    }

    fn captured(&self) -> Option<&Snapshot> {
        None
    }

    fn read_set(&self, _base: &Snapshot) -> ReadSet {
        ReadSet::of_tables(vec![TABLES[0]])
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let opened = base.open_table(TABLES[0]).await.map_err(|error| error.failure())?;
        let row = base.table(TABLES[0]).expect("a table of the graph");
        let mut staged = Vec::new();
        for id in ["one", "two"] {
            let files = staged_rows(&self.store, &row.path, vec![node_batch([(id, 1)])]).await;
            staged.push(opened.stage_append(files.map_err(|error| error.failure())?, attempt.mark()));
        }
        let rest = staged.split_off(1);
        let first = Box::new(staged.remove(0));
        let counts = RowCounts { inserted: 2, updated: 0, deleted: 0, after: row.row_count + 2 };
        let staged = Staged::Effect(StagedEffect { base: opened, first, rest });
        Ok(ChangeSet::of_tables(vec![TableChange { table: TABLES[0], staged, rows: RowsChange::Changed(counts) }]))
    }
}

async fn two_steps(process: &Process, operation: OperationId) -> Result<WriteOutcome, Failure> {
    let writer = TwoSteps { store: process.committer.catalog().store().clone() };
    process.committer.write(request(operation), Box::new(writer)).await
}

fn committed(outcome: Result<WriteOutcome, Failure>) -> CommitRow {
    match outcome.expect("the write succeeds") {
        WriteOutcome::Committed(row) => row,
        other => panic!("expected a commit, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn effect_of_two_transactions_is_completed_or_undone_as_one() {
    let (forward, undone) = (&[PublicationKind::Commit][..], &[PublicationKind::Abort, PublicationKind::Settle][..]);
    for (path_part, nth, decided) in [("__manifest", 1, forward), ("nodes/1", 2, undone), ("nodes/1", 1, undone)] {
        let world = World::new().await;
        let death = DeathAtVersion { path_part, nth, seen: AtomicUsize::new(0), dead: AtomicBool::new(false) };
        let victim = world.process_with(vec![Arc::new(death)], FailPoints::default()).await;
        let survivor = world.process().await;
        let pinned = survivor.newest().await.table(TABLES[0]).unwrap().version;
        let operation = fresh();
        let failure = two_steps(&victim, operation).await.unwrap_err();
        assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{path_part} {nth}: {failure:?}");
        survivor.settle().await;
        let newest = survivor.newest().await;
        let kinds: Vec<PublicationKind> = newest.state().recoveries.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, decided, "{path_part} {nth}");
        let moved = newest.table(TABLES[0]).unwrap().version.0 - pinned.0;
        // Two transactions; or what was made of them, and a fence.
        assert_eq!(moved, if decided == forward { 2 } else { nth as u64 }, "{path_part} {nth}");
        let rows = if decided == forward { 2 } else { 0 };
        assert_eq!(world.quiesced().await[0].len(), rows, "I-2: {path_part} {nth}");
        let resent = two_steps(&survivor, operation).await.expect("the resent operation");
        assert!(matches!(resent, WriteOutcome::Committed(_) | WriteOutcome::Replayed(_)), "{resent:?}");
        assert_eq!(world.quiesced().await[0].len(), 2, "I-8: {path_part} {nth}");
    }
}

/// Takes over the pin that a branch has for the first table, as a merge does.
struct TakeOver {
    from: TableRow,
    head: CommitId,
}

#[async_trait]
impl Writer for TakeOver {
    fn name(&self) -> WriterPoints {
        WriterPoints::of("merge")
    }

    fn kind(&self) -> ChangeKind {
        ChangeKind::Commit(CommitKind::Merge)
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        ConflictPolicy::Refuse
    }

    fn captured(&self) -> Option<&Snapshot> {
        None
    }

    fn read_set(&self, _base: &Snapshot) -> ReadSet {
        ReadSet { tables: vec![TABLES[0]], head: HeadRead::Yes }
    }

    async fn prepare(&mut self, _base: &Snapshot, _attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let after = self.from.row_count;
        let counts = RowCounts { inserted: after, updated: 0, deleted: 0, after };
        let staged = Staged::TakenOver(Box::new(self.from.clone()));
        let change = TableChange { table: TABLES[0], staged, rows: RowsChange::Changed(counts) };
        Ok(ChangeSet { parents: vec![self.head], ..ChangeSet::of_tables(vec![change]) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pin_taken_over_keeps_its_owner_until_the_next_write_makes_a_private_tree() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    row(create(&process, fresh(), "dev").await);
    let dev = named("dev");
    process.append_on(&dev, fresh(), "theirs", &TABLES[..1]).await.unwrap();
    let (source, target) = (process.newest_on(&dev).await, process.newest().await);
    let from = source.table(TABLES[0]).unwrap().clone();
    let merge = TakeOver { from: from.clone(), head: source.head() };
    let commit = committed(process.committer.write(request(fresh()), Box::new(merge)).await);
    assert_eq!(commit.parents, [target.head(), source.head()]);
    let merged = other.newest().await;
    assert_eq!(merged.table(TABLES[0]), Some(&from), "I-3: pin, owner and content are the branch's");

    // Both go on, each on a tree of its own.
    committed(other.append(fresh(), "ours", &TABLES[..1]).await);
    process.append_on(&dev, fresh(), "later", &TABLES[..1]).await.unwrap();
    let (main, dev_now) = (process.newest().await, other.newest_on(&dev).await);
    let (ours, theirs) = (main.table(TABLES[0]).unwrap(), dev_now.table(TABLES[0]).unwrap());
    assert_eq!((ours.owner, theirs.owner), (main.branch_id(), dev_now.branch_id()));
    assert_ne!(ours.tree, theirs.tree);
    assert_eq!(theirs.tree, from.tree);
    let ids = |ids: &std::collections::BTreeSet<String>| ids.iter().cloned().collect::<Vec<_>>();
    assert_eq!(ids(&world.quiesced().await[0]), ["ours", "theirs"]);
    assert_eq!(ids(&world.quiesced_on(&dev).await[0]), ["later", "theirs"]);

    // A pin never moves back to a tree that the branch itself owns.
    let own = TakeOver { from: ours.clone(), head: main.head() };
    let failure = process.committer.write(request(fresh()), Box::new(own)).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::InvariantViolation { .. }), "{failure:?}");
}

/// The intent of a group of two operations, put by an owner that died. With an effect that was never made, it must be undone.
async fn group(world: &World, process: &Process, effect: Option<Effect>) -> [OperationId; 2] {
    let base = process.newest().await;
    let (operations, attempt_id) = ([fresh(), fresh()], AttemptId(SystemClock.mint()));
    let of = |(operation_id, actor): (&OperationId, &str)| CommitOperation {
        operation_id: *operation_id,
        actor: actor.to_owned(),
        kind: CommitKind::Load,
        counts: Vec::new(),
    };
    let members: Vec<CommitOperation> = operations.iter().zip(["ada", "bo"]).map(of).collect();
    let entry =
        |operation_id: &OperationId| OperationEntry { operation_id: *operation_id, digest: "digest".to_owned() };
    let commit = CommitRow {
        id: CommitId(SystemClock.mint()),
        parents: vec![base.head()],
        branch_id: base.branch_id(),
        version: base.version().next(),
        actor: CommitRow::actor_of(&members).to_owned(),
        time_ms: base.head_commit().time_ms + 1,
        kind: CommitRow::kind_of(&members),
        schema_hash: base.schema_hash().to_owned(),
        operations: members,
        counts: Vec::new(),
    };
    let intent = Intent {
        writer: LOAD.name(),
        actor: commit.actor.clone(),
        branch_id: base.branch_id(),
        base: base.version(),
        token: Token::capture(base.state(), &ReadSet::default()),
        aborts: 0,
        armed_ms: 0,
        effects: effect.into_iter().collect(),
        publication: Publication {
            kind: PublicationKind::Commit,
            decision: DecidedBy::Own.about(attempt_id),
            preconditions: operations.map(Precondition::OperationUnseen).to_vec(),
            changes: vec![Change::Commit(commit)],
            operations: Operations::try_from(operations.iter().map(entry).collect::<Vec<_>>()).expect("two operations"),
        },
    };
    let path = process.committer.catalog().paths().intent(intent.branch_id, intent.version());
    world.temp.store.put(&path, intent.to_bytes().unwrap()).await.unwrap();
    operations
}

#[tokio::test(flavor = "multi_thread")]
async fn group_that_is_completed_answers_each_of_its_operations() {
    let world = World::new().await;
    let process = world.process().await;
    let operations = group(&world, &process, None).await;
    process.settle().await;
    let head = process.newest().await.head_commit().clone();
    assert_eq!((head.kind, head.actor.as_str()), (CommitKind::Group, "omnigraph:group"));
    for operation in operations {
        let state = process.committer.operation(&BranchName::Main, operation).await.unwrap();
        assert_eq!(state, OperationState::Committed(Box::new(head.clone())));
        let resent = process.append(operation, "mine", &TABLES).await.unwrap();
        assert!(matches!(resent, WriteOutcome::Replayed(row) if row == head), "I-8");
        let other = WriteRequest { digest: "other".to_owned(), ..request(operation) };
        let failure = process.committer.write(other, process.appending("mine", &TABLES)).await.unwrap_err();
        let reused = Problem::OperationIdReused { first_digest: "digest".to_owned(), commit: Some(head.id) };
        assert_eq!(failure.problem, reused);
    }
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn group_that_is_undone_has_a_row_for_each_of_its_operations() {
    let world = World::new().await;
    let process = world.process().await;
    let newest = process.newest().await;
    let pinned = newest.table(TABLES[0]).unwrap();
    let effect = Effect {
        table: pinned.id,
        type_name: pinned.type_name.clone(),
        tree: pinned.tree_ref(),
        expected: pinned.version,
        transactions: vec!["never made".to_owned()],
    };
    let operations = group(&world, &process, Some(effect)).await;
    process.settle().await;
    let newest = process.newest().await;
    for operation in operations {
        let rows = process.committer.catalog().operation_rows(&newest, operation).await.unwrap();
        assert!(rows.len() == 1 && rows[0].is_undone(), "{rows:?}");
        let state = process.committer.operation(&BranchName::Main, operation).await.unwrap();
        assert!(matches!(state, OperationState::RolledBack { .. }), "{state:?}");
    }
    for (operation, id) in operations.into_iter().zip(["a", "b"]) {
        committed(process.append(operation, id, &TABLES[..1]).await);
    }
    assert_eq!(world.quiesced().await[0].len(), 2);
}
