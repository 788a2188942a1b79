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
    Attempt, ChangeKind, ChangeSet, ConflictPolicy, Effect, FailPoints, HeadRead, Intent, OperationState, Place,
    ReadSet, RowCounts, RowsChange, SchemaChange, Staged, StagedEffect, TableChange, Token, WriteOutcome, WriteRequest,
    Writer, WriterPoints,
};
use omnigraph_storage::{AfterVerdict, HookVerdict, StagedFiles, Store, StoreCall, StoreHook, StoreKind, StoreReply};
use omnigraph_testkit::{FaultHook, FaultPlan, node_batch, staged_rows};
use omnigraph_types::{
    AttemptId, BranchName, Clock, CommitId, CommitKind, Failure, OperationId, Problem, SystemClock, TableId,
};

use crate::branches::{create, delete, named, row};
use crate::world::{LOAD, Process, TABLES, World, failing, fresh, request};

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

/// What a test says: tables that get a version with the same rows, and whatever else a change set can say.
struct Scripted {
    store: Store,
    kind: ChangeKind,
    tables: Vec<TableId>,
    rows: RowsChange,
    schema: Option<SchemaChange>,
    preconditions: Vec<Precondition>,
    parents: Vec<CommitId>,
}

impl Scripted {
    fn new(process: &Process, kind: ChangeKind) -> Self {
        let store = process.committer.catalog().store().clone();
        let (tables, schema, preconditions, parents) = (Vec::new(), None, Vec::new(), Vec::new());
        Self { store, kind, tables, rows: RowsChange::Same, schema, preconditions, parents }
    }

    async fn write(self, process: &Process, request: WriteRequest) -> Result<WriteOutcome, Failure> {
        process.committer.write(request, Box::new(self)).await
    }
}

#[async_trait]
impl Writer for Scripted {
    fn name(&self) -> WriterPoints {
        WriterPoints::of("scripted")
    }

    fn kind(&self) -> ChangeKind {
        self.kind
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        ConflictPolicy::PrepareAgain
    }

    fn captured(&self) -> Option<&Snapshot> {
        None
    }

    fn read_set(&self, _base: &Snapshot) -> ReadSet {
        ReadSet::of_tables(self.tables.clone())
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let mut tables = Vec::new();
        for table in &self.tables {
            let opened = base.open_table(*table).await.map_err(|error| error.failure())?;
            let place = Place::of(base, *table, opened, &self.store, attempt).await;
            let place = place.map_err(|error| error.failure())?;
            let change = place.table().stage_append(StagedFiles::empty(), attempt.mark());
            let staged = place.stage(change).await.map_err(|error| error.failure())?;
            tables.push(TableChange { table: *table, staged, rows: self.rows });
        }
        let (schema, preconditions) = (self.schema.clone(), self.preconditions.clone());
        Ok(ChangeSet { parents: self.parents.clone(), schema, preconditions, tables })
    }
}

const OPTIMIZE: ChangeKind = ChangeKind::KeepsHead(PublicationKind::Optimize);
const SCHEMA_APPLY: ChangeKind = ChangeKind::Commit(CommitKind::SchemaApply);

fn schema(dropped: Vec<TableId>, renamed: Vec<(TableId, String)>) -> SchemaChange {
    SchemaChange { hash: "5".repeat(64), added: Vec::new(), dropped, renamed }
}

/// Puts another contract in force that drops a table.
pub(crate) async fn drop_table(process: &Process, table: TableId) {
    let apply = Scripted { schema: Some(schema(vec![table], Vec::new())), ..Scripted::new(process, SCHEMA_APPLY) };
    committed(apply.write(process, request(fresh())).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn publication_that_keeps_the_head_moves_pins_and_leaves_rows_and_expected_heads_alone() {
    let world = World::new().await;
    let process = world.process().await;
    committed(process.append(fresh(), "a", &TABLES).await);
    let before = process.newest().await;
    let operation = fresh();
    let optimize = || Scripted { tables: TABLES[..1].to_vec(), ..Scripted::new(&process, OPTIMIZE) };
    let outcome = optimize().write(&process, request(operation)).await.unwrap();
    let after = process.newest().await;
    assert!(matches!(outcome, WriteOutcome::Kept(version) if version == after.version()), "{outcome:?}");
    assert_eq!((after.version(), after.head()), (before.version().next(), before.head()));
    let (was, now) = (before.table(TABLES[0]).unwrap(), after.table(TABLES[0]).unwrap());
    assert_eq!(now.version, was.version.next(), "the pin moved");
    assert_eq!((now.row_count, now.content_commit), (was.row_count, was.content_commit), "the rows did not");
    assert_eq!(after.state().commits, before.state().commits);
    // Sent again, it is answered; to others it is no commit.
    let resent = optimize().write(&process, request(operation)).await.unwrap();
    assert!(matches!(resent, WriteOutcome::Kept(version) if version == after.version()), "{resent:?}");
    assert_eq!(process.newest().await.version(), after.version());
    let state = process.committer.operation(&BranchName::Main, operation).await.unwrap();
    assert!(matches!(state, OperationState::Done { kind: PublicationKind::Optimize, .. }), "{state:?}");
    let expecting = WriteRequest { expected_head: Some(before.head()), ..request(fresh()) };
    let outcome = process.committer.write(expecting, process.appending("b", &TABLES)).await;
    assert_eq!(committed(outcome).parents, [before.head()]);
    assert_eq!(world.quiesced().await[0].len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn receipt_of_a_publication_that_kept_the_head_is_found_after_the_removal_of_its_branch() {
    let world = World::new().await;
    let (process, other) = (world.process().await, world.process().await);
    let dev = named("dev");
    row(create(&process, fresh(), "dev").await);
    let operation = fresh();
    let to_dev = || WriteRequest { branch: dev.clone(), ..request(operation) };
    let optimize = |process: &Process| Scripted { tables: TABLES[..1].to_vec(), ..Scripted::new(process, OPTIMIZE) };
    let WriteOutcome::Kept(version) = optimize(&process).write(&process, to_dev()).await.unwrap() else {
        panic!("it keeps the head");
    };
    row(delete(&process, fresh(), "dev").await);
    for _ in 0..2 {
        for process in [&process, &other] {
            let resent = optimize(process).write(process, to_dev()).await.unwrap();
            assert!(matches!(resent, WriteOutcome::Kept(found) if found == version), "I-8: {resent:?}");
            let state = process.committer.operation(&dev, operation).await.unwrap();
            assert!(matches!(state, OperationState::Done { kind: PublicationKind::Optimize, .. }), "{state:?}");
        }
        // And once more when the name means another branch.
        if process.committer.catalog().newest(&dev).await.is_err() {
            row(create(&process, fresh(), "dev").await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn publication_that_keeps_the_head_cannot_change_rows_or_schema_or_have_parents() {
    let world = World::new().await;
    let process = world.process().await;
    committed(process.append(fresh(), "a", &TABLES).await);
    let before = process.newest().await;
    let changed = RowsChange::Changed(RowCounts { inserted: 1, updated: 0, deleted: 0, after: 2 });
    let tables = || TABLES[..1].to_vec();
    let refused = [
        Scripted { tables: tables(), rows: changed, ..Scripted::new(&process, OPTIMIZE) },
        Scripted { schema: Some(schema(Vec::new(), Vec::new())), ..Scripted::new(&process, OPTIMIZE) },
        Scripted { parents: vec![before.head()], tables: tables(), ..Scripted::new(&process, OPTIMIZE) },
        Scripted { tables: tables(), ..Scripted::new(&process, ChangeKind::KeepsHead(PublicationKind::Commit)) },
    ];
    for scripted in refused {
        let failure = scripted.write(&process, request(fresh())).await.unwrap_err();
        assert!(matches!(failure.problem, Problem::InvariantViolation { .. }), "{failure:?}");
        assert_eq!(failure.effect, omnigraph_types::Effect::None);
    }
    assert_eq!(process.newest().await.version(), before.version());
    world.quiesced().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_that_leaves_the_rows_of_a_table_counts_nothing_for_it() {
    let world = World::new().await;
    let process = world.process().await;
    let content = committed(process.append(fresh(), "a", &TABLES).await).id;
    let write =
        Scripted { tables: TABLES[..1].to_vec(), ..Scripted::new(&process, ChangeKind::Commit(CommitKind::Load)) };
    let commit = committed(write.write(&process, request(fresh())).await);
    let after = process.newest().await;
    assert_eq!((after.head(), commit.counts.len()), (commit.id, 0));
    let row = after.table(TABLES[0]).unwrap();
    assert_eq!((row.row_count, row.content_commit), (1, content), "equal content proves equal rows");
    assert_eq!(world.quiesced().await[0].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_change_puts_its_contract_in_force_and_drops_renames_and_adds_tables() {
    let world = World::with_more_tables(StoreKind::Local, 2).await;
    let process = world.process().await;
    let before = process.newest().await;
    // An added table brings a tree of its own, here one that another table had.
    let old = before.table(TableId(101)).unwrap();
    let added = TableRow { id: TableId(102), type_name: "New".to_owned(), ..old.clone() };
    let change = SchemaChange {
        added: vec![added.clone()],
        ..schema(vec![TableId(100), TableId(101)], vec![(TABLES[1], "Bee".to_owned())])
    };
    let apply = Scripted { schema: Some(change), ..Scripted::new(&process, SCHEMA_APPLY) };
    let commit = committed(apply.write(&process, request(fresh())).await);
    assert_eq!((commit.kind, commit.schema_hash.as_str()), (CommitKind::SchemaApply, "5".repeat(64).as_str()));
    let after = world.process().await.newest().await;
    assert_eq!(after.schema_hash(), "5".repeat(64));
    let names: Vec<(TableId, &str)> = after.tables().map(|row| (row.id, row.type_name.as_str())).collect();
    assert_eq!(names, [(TABLES[0], "A"), (TABLES[1], "Bee"), (added.id, "New")]);
    // A writer that rests on the schema before is refused, or prepares again on this one.
    committed(process.append(fresh(), "a", &TABLES).await);
    assert_eq!(world.quiesced().await[1].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn schema_change_that_drops_or_renames_a_table_settles_it_first() {
    let renamed = (TableId(100), "Other".to_owned());
    for change in [schema(vec![TableId(100)], Vec::new()), schema(Vec::new(), vec![renamed])] {
        let world = World::with_more_tables(StoreKind::Local, 1).await;
        let sound = world.process().await;
        let faults = Arc::new(FaultHook::default());
        let hooks: Vec<Arc<dyn StoreHook>> = vec![faults.clone()];
        let victim = world.process_with(hooks, FailPoints::default()).await;
        // Armed; its effect is never made.
        faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, "_versions").ever());
        victim.append(fresh(), "dead", &[TableId(100)]).await.unwrap_err();
        // Aborted; the table is left to be fenced.
        let failpoints = failing("g/settle.A.before=error");
        let rescuer = world.process_with(Vec::new(), failpoints.clone()).await;
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
        let main = rescuer.committer.catalog().main_chain();
        rescuer.committer.settle(&main, deadline).await.unwrap_err();
        assert!(failpoints.is_spent());
        let unsettled = sound.newest().await.state().unsettled.clone();
        assert_eq!(unsettled.iter().map(|row| row.table).collect::<Vec<_>>(), [TableId(100)]);

        let apply = Scripted { schema: Some(change.clone()), ..Scripted::new(&sound, SCHEMA_APPLY) };
        committed(apply.write(&sound, request(fresh())).await);
        let kinds: Vec<PublicationKind> =
            sound.newest().await.state().publications.iter().map(|row| row.kind).collect();
        assert!(kinds.ends_with(&[PublicationKind::Settle, PublicationKind::Commit]), "{change:?}: {kinds:?}");
        world.quiesced().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn further_precondition_of_a_change_set_is_checked_where_it_is_published() {
    let world = World::new().await;
    let process = world.process().await;
    let commit = committed(process.append(fresh(), "a", &TABLES).await);
    row(create(&process, fresh(), "dev").await);
    let before = process.newest().await;
    let scripted = |precondition: Precondition| {
        let (tables, preconditions) = (TABLES[..1].to_vec(), vec![precondition]);
        Scripted { tables, preconditions, ..Scripted::new(&process, OPTIMIZE) }
    };
    let held = scripted(Precondition::ExactHead(commit.id)).write(&process, request(fresh())).await.unwrap();
    assert!(matches!(held, WriteOutcome::Kept(_)), "{held:?}");
    for unmet in [Precondition::NoOtherBranches, Precondition::ExactHead(before.state().commits[0].id)] {
        let operation = fresh();
        let failure = scripted(unmet.clone()).write(&process, request(operation)).await.unwrap_err();
        assert_eq!(failure.effect, omnigraph_types::Effect::None, "{unmet:?}: {failure:?}");
        let newest = process.newest().await;
        let rows = process.committer.catalog().operation_rows(&newest, operation).await.unwrap();
        assert!(rows.iter().all(|row| row.is_undone()), "nothing of it was published: {rows:?}");
        assert_eq!(newest.head(), commit.id);
        world.quiesced().await;
    }
}
