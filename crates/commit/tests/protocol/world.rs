//! A graph of two tables, writers to it, and the oracle that every test ends with.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use bytes::Bytes;
use omnigraph_catalog::{Graphs, NewGraph, NewTable, Snapshot};
use omnigraph_commit::{
    Attempt, ChangeKind, ChangeSet, CommitOptions, Committer, ConflictPolicy, FailPoint, FailPoints, Place, ReadSet,
    RowCounts, RowsChange, Staged, TableChange, WriteOutcome, WriteRequest, Writer, WriterPoints, fail_points,
};
use omnigraph_storage::{AfterVerdict, HookVerdict, Store, StoreCall, StoreHook, StoreKind, StoreReply};
use omnigraph_testkit::{TempStore, ids_in, node_batch, node_schema, staged_rows};
use omnigraph_types::{
    BranchName, Clock, CommitKind, Failure, GraphName, GraphVersion, Limits, OnConflict, OperationId, Phase,
    RequestEffect, SystemClock, TableId, TypeKind, WriteMode,
};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) const TABLES: [TableId; 2] = [TableId(1), TableId(2)];

/// The writer of every write here.
pub(crate) const LOAD: WriterPoints = WriterPoints::of("load");

/// All points: the writer's, and the protocol's own.
pub(crate) fn points() -> Vec<FailPoint> {
    let of_load = LOAD.points(&[Phase::Arm, Phase::Apply, Phase::Publish, Phase::Reply]);
    of_load.chain(fail_points()).collect()
}

/// Actions at some points.
pub(crate) fn failing(text: &str) -> FailPoints {
    FailPoints::parse(text, &points()).expect("declared points")
}

/// SHA-256 of the two bytes `{}`.
const EMPTY_OBJECT_SHA256: &str = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

/// Lets a number of store calls through, then fails all: the process is as good as dead.
#[derive(Debug)]
pub(crate) struct DyingHook {
    left: AtomicI64,
    lose_last: AtomicBool,
}

impl DyingHook {
    pub(crate) fn immortal() -> Arc<Self> {
        Arc::new(Self { left: AtomicI64::new(i64::MAX), lose_last: AtomicBool::new(false) })
    }

    /// Dies before its next call number `calls`, counted from 0.
    pub(crate) fn die_after(&self, calls: i64) {
        self.left.store(calls, Ordering::SeqCst);
    }

    /// Call number `calls` is applied, and its reply lost; later calls fail.
    pub(crate) fn die_with_lost_reply_after(&self, calls: i64) {
        self.lose_last.store(true, Ordering::SeqCst);
        self.left.store(calls + 1, Ordering::SeqCst);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.left.load(Ordering::SeqCst) <= 0
    }
}

#[async_trait]
impl StoreHook for DyingHook {
    async fn before(&self, _call: StoreCall, _path: &str) -> HookVerdict {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 { HookVerdict::Proceed } else { HookVerdict::Fail }
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        let last = self.left.load(Ordering::SeqCst) == 0;
        if last && self.lose_last.load(Ordering::SeqCst) { AfterVerdict::LoseReply } else { AfterVerdict::Pass }
    }
}

/// Lets the first table's effect land, then fails every call: the process dies half way through its effects.
#[derive(Debug, Default)]
pub(crate) struct HalfHook {
    first_landed: Notify,
    dead: AtomicBool,
}

#[async_trait]
impl StoreHook for HalfHook {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call == StoreCall::PutIfAbsent && path.contains("nodes/2/_versions") {
            self.first_landed.notified().await;
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.dead.load(Ordering::SeqCst) { HookVerdict::Fail } else { HookVerdict::Proceed }
    }

    async fn after(&self, call: StoreCall, path: &str, _reply: StoreReply) -> AfterVerdict {
        if call == StoreCall::PutIfAbsent && path.contains("nodes/1/_versions") {
            self.first_landed.notify_one();
        }
        AfterVerdict::Pass
    }
}

/// One process: its own store, catalog and committer; nothing shared with another but the files.
pub(crate) struct Process {
    pub(crate) committer: Committer,
}

pub(crate) fn limits() -> Limits {
    Limits { recovery_grace_ms: 0, ticket_wait_ms: 2_000, ..Limits::default() }
}

fn name() -> GraphName {
    "g".parse().expect("a legal name")
}

fn graphs(store: Store) -> Graphs {
    Graphs::new(store, Arc::new(SystemClock), Arc::new(limits()))
}

/// A root with one graph of two node tables, `A` and `B`.
pub(crate) struct World {
    pub(crate) temp: TempStore,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_more_tables(StoreKind::Local, 0).await
    }

    /// The same on a kind of store.
    pub(crate) async fn on(kind: StoreKind) -> Self {
        Self::with_more_tables(kind, 0).await
    }

    /// The same with more tables, which stay empty.
    pub(crate) async fn with_more_tables(kind: StoreKind, more: u32) -> Self {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let table = |id: TableId, type_name: &str| NewTable {
            id,
            kind: TypeKind::Node,
            type_name: type_name.to_owned(),
            schema: node_schema(),
        };
        let new = NewGraph {
            name: name(),
            contract: Bytes::from_static(b"{}"),
            contract_hash: EMPTY_OBJECT_SHA256.to_owned(),
            tables: [(TABLES[0], "A".to_owned()), (TABLES[1], "B".to_owned())]
                .into_iter()
                .chain((0..more).map(|n| (TableId(100 + n), format!("More{n}"))))
                .map(|(id, type_name)| table(id, &type_name))
                .collect(),
            operation_id: fresh(),
            digest: "create".to_owned(),
            actor: "test".to_owned(),
        };
        graphs(temp.store.clone()).create(new, &RequestEffect::default()).await.expect("a new graph");
        Self { temp }
    }

    pub(crate) async fn process(&self) -> Process {
        self.process_with(Vec::new(), FailPoints::default()).await
    }

    pub(crate) async fn process_with(&self, hooks: Vec<Arc<dyn StoreHook>>, failpoints: FailPoints) -> Process {
        self.process_by(Arc::new(SystemClock), hooks, failpoints).await
    }

    /// A process with a clock of its own.
    pub(crate) async fn process_by(
        &self,
        clock: Arc<dyn Clock>,
        hooks: Vec<Arc<dyn StoreHook>>,
        failpoints: FailPoints,
    ) -> Process {
        self.process_of(limits(), clock, hooks, failpoints).await
    }

    /// A process with a server's limits. An owner that is alive does not count as gone there, however busy the machine is.
    pub(crate) async fn polite_process(&self) -> Process {
        self.process_of(Limits::default(), Arc::new(SystemClock), Vec::new(), FailPoints::default()).await
    }

    /// A process that waits for others as long as a server does: on a busy machine puts are slow, and the grace of an owner grows with them.
    pub(crate) async fn patient_process(&self) -> Process {
        let limits = Limits { ticket_wait_ms: Limits::default().ticket_wait_ms, ..limits() };
        self.process_of(limits, Arc::new(SystemClock), Vec::new(), FailPoints::default()).await
    }

    pub(crate) async fn process_of(
        &self,
        limits: Limits,
        clock: Arc<dyn Clock>,
        hooks: Vec<Arc<dyn StoreHook>>,
        failpoints: FailPoints,
    ) -> Process {
        let (store, limits) = (self.temp.reopen(hooks).await, Arc::new(limits));
        let graphs = Graphs::new(store, clock.clone(), limits.clone());
        let catalog = graphs.open(&name()).await.expect("the graph opens").1;
        let options = CommitOptions { graph_name: name(), limits, clock, failpoints };
        Process { committer: Committer::new(catalog, options) }
    }

    /// I-6 on main, through a process that has seen nothing of what happened. Returns ids per table.
    pub(crate) async fn quiesced(&self) -> Vec<BTreeSet<String>> {
        self.quiesced_on(&BranchName::Main).await
    }

    /// I-6: no intent, no unsettled row, and of every owned tree pin = head.
    pub(crate) async fn quiesced_on(&self, branch: &BranchName) -> Vec<BTreeSet<String>> {
        let process = self.process().await;
        let newest = process.newest_on(branch).await;
        assert_eq!(newest.state().unsettled, Vec::new(), "I-6: unsettled rows");
        let decided: Vec<GraphVersion> = newest.state().recoveries.iter().map(|row| row.version).collect();
        assert!(decided.is_sorted_by(|a, b| a < b), "a version has at most one recovery: {decided:?}");
        let catalog = process.committer.catalog();
        let next = catalog.paths().intent(newest.branch_id(), newest.version().next());
        assert!(catalog.store().get(&next).await.unwrap().is_none(), "I-6: an intent is pending");
        for row in newest.tables().filter(|row| row.owner == newest.branch_id()) {
            let head = catalog.store().head(&row.tree_ref()).await.unwrap();
            assert_eq!(head, Some(row.version), "I-6: head of {} is not its pin", row.type_name);
        }
        process.ids(&newest).await
    }
}

pub(crate) fn fresh() -> OperationId {
    OperationId(SystemClock.mint())
}

/// Adds one row to each of some tables.
pub(crate) struct Append {
    /// The process's own store, so that its faults are met.
    pub(crate) store: Store,
    pub(crate) rows: Vec<(TableId, String)>,
}

#[async_trait]
impl Writer for Append {
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
        ReadSet::of_tables(self.rows.iter().map(|(table, _)| *table).collect())
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let mut changes = Vec::new();
        for (table, id) in &self.rows {
            let opened = base.open_table(*table).await.map_err(|error| error.failure())?;
            let batch: RecordBatch = node_batch([(id.as_str(), 1)]);
            let row = base.table(*table).expect("a table of the graph");
            let staged = staged_rows(&self.store, &row.path, vec![batch]).await;
            let files = staged.map_err(|error| error.failure())?;
            let place = Place::of(base, *table, opened, &self.store, attempt).await;
            let place = place.map_err(|error| error.failure())?;
            let change = place.table().stage_append(files, attempt.mark());
            changes.push(TableChange {
                table: *table,
                staged: place.stage(change).await.map_err(|error| error.failure())?,
                rows: RowsChange::Changed(RowCounts { inserted: 1, updated: 0, deleted: 0, after: row.row_count + 1 }),
            });
        }
        Ok(ChangeSet::of_tables(changes))
    }
}

/// Replaces one table by nothing, as somebody decided who saw the version `captured`.
pub(crate) struct Clear {
    pub(crate) table: TableId,
    pub(crate) captured: Snapshot,
}

#[async_trait]
impl Writer for Clear {
    fn name(&self) -> WriterPoints {
        LOAD
    }

    fn kind(&self) -> ChangeKind {
        ChangeKind::Commit(CommitKind::Load)
    }

    fn conflict_policy(&self) -> ConflictPolicy {
        ConflictPolicy::Refuse
    }

    fn captured(&self) -> Option<&Snapshot> {
        Some(&self.captured)
    }

    fn read_set(&self, _base: &Snapshot) -> ReadSet {
        ReadSet::of_tables(vec![self.table])
    }

    async fn prepare(&mut self, base: &Snapshot, attempt: &Attempt) -> Result<ChangeSet, Failure> {
        let opened = base.open_table(self.table).await.map_err(|error| error.failure())?;
        let change = opened.stage_overwrite(omnigraph_storage::StagedFiles::empty(), attempt.mark());
        let staged = Staged::effect(opened, change);
        let deleted = base.table(self.table).expect("a table of the graph").row_count;
        let counts = RowCounts { inserted: 0, updated: 0, deleted, after: 0 };
        let change = TableChange { table: self.table, staged, rows: RowsChange::Changed(counts) };
        Ok(ChangeSet::of_tables(vec![change]))
    }
}

pub(crate) fn request(operation_id: OperationId) -> WriteRequest {
    WriteRequest {
        operation_id,
        digest: "digest".to_owned(),
        actor: "test".to_owned(),
        branch: BranchName::Main,
        expected_head: None,
        on_conflict: OnConflict::ByKind,
        deadline: None,
        mode: WriteMode::Commit,
    }
}

impl Process {
    pub(crate) async fn newest(&self) -> Snapshot {
        self.newest_on(&BranchName::Main).await
    }

    pub(crate) async fn newest_on(&self, branch: &BranchName) -> Snapshot {
        self.committer.catalog().newest(branch).await.expect("the newest version opens")
    }

    pub(crate) async fn append_on(
        &self,
        branch: &BranchName,
        operation: OperationId,
        id: &str,
        tables: &[TableId],
    ) -> Result<WriteOutcome, Failure> {
        let request = WriteRequest { branch: branch.clone(), ..request(operation) };
        self.committer.write(request, self.appending(id, tables)).await
    }

    pub(crate) async fn append(
        &self,
        operation: OperationId,
        id: &str,
        tables: &[TableId],
    ) -> Result<WriteOutcome, Failure> {
        self.committer.write(request(operation), self.appending(id, tables)).await
    }

    pub(crate) fn appending(&self, id: &str, tables: &[TableId]) -> Box<Append> {
        let rows = tables.iter().map(|table| (*table, id.to_owned())).collect();
        Box::new(Append { store: self.committer.catalog().store().clone(), rows })
    }

    pub(crate) async fn ids(&self, snapshot: &Snapshot) -> Vec<BTreeSet<String>> {
        let mut all = Vec::new();
        for table in TABLES {
            let ids = ids_in(&snapshot.open_table(table).await.unwrap()).await.unwrap();
            let set: BTreeSet<String> = ids.iter().cloned().collect();
            assert_eq!(set.len(), ids.len(), "I-8: a row is there twice");
            assert_eq!(snapshot.table(table).unwrap().row_count, ids.len() as u64, "the row count is true");
            all.push(set);
        }
        all
    }

    pub(crate) async fn settle(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        let main = self.committer.catalog().main_chain();
        self.committer.settle(&main, deadline).await.expect("the branch settles");
    }
}
