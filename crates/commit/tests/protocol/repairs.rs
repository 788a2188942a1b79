//! What needs a person: unreadable intents and tables that somebody wrote to past the graph; and repairers that die.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use omnigraph_catalog::PublicationKind;
use omnigraph_commit::{
    Damage, FailPoints, OperationState, RepairOutcome, RepairRequest, RepairView, Standing, WriteOutcome,
};
use omnigraph_storage::{AfterVerdict, CommitOutcome, HookVerdict, StoreCall, StoreHook, StoreReply};
use omnigraph_testkit::{FaultHook, FaultPlan, fresh_mark, node_batch, staged_rows};
use omnigraph_types::{BranchName, Effect, Failure, OperationId, Phase, Problem, ReadSetMember, Retry, TableId};
use tokio::time::Instant;

use crate::world::{DyingHook, HalfHook, Process, TABLES, World, failing, fresh, points};

/// Bound on the store calls of one repair; the loops below end when a repair survives.
const CALLS_MAX: i64 = 80;

/// Dies before its first put-if-absent of a path with this text.
#[derive(Debug)]
struct DeathAt {
    path_part: &'static str,
    dead: AtomicBool,
}

impl DeathAt {
    fn new(path_part: &'static str) -> Arc<Self> {
        Arc::new(Self { path_part, dead: AtomicBool::new(false) })
    }
}

#[async_trait]
impl StoreHook for DeathAt {
    async fn before(&self, call: StoreCall, path: &str) -> HookVerdict {
        if call == StoreCall::PutIfAbsent && path.contains(self.path_part) && path.contains("_versions") {
            self.dead.store(true, Ordering::SeqCst);
        }
        if self.dead.load(Ordering::SeqCst) { HookVerdict::Fail } else { HookVerdict::Proceed }
    }

    async fn after(&self, _call: StoreCall, _path: &str, _reply: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }
}

/// How far a writer of both tables came.
#[derive(Debug, Clone, Copy)]
enum Came {
    Armed,
    HalfWay,
    Applied,
}

/// A writer of both tables died, and its intent was damaged since.
async fn torn(world: &World, came: Came) -> OperationId {
    let hook: Arc<dyn StoreHook> = match came {
        Came::Armed => DeathAt::new("nodes/"),
        Came::HalfWay => Arc::new(HalfHook::default()),
        Came::Applied => DeathAt::new("__manifest/"),
    };
    let victim = world.process_with(vec![hook], FailPoints::default()).await;
    let operation = fresh();
    let failure = victim.append(operation, "mine", &TABLES).await.unwrap_err();
    assert!(matches!(failure.problem, Problem::RecoveryRequired { .. }), "{failure:?}");
    tear(world).await;
    operation
}

/// Damages the intent behind main's newest version.
async fn tear(world: &World) {
    let process = world.process().await;
    let newest = process.newest().await;
    let path = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
    assert!(world.temp.store.get(&path).await.unwrap().is_some(), "there is an intent to damage");
    world.temp.store.put(&path, Bytes::from_static(b"{\"format\":2,\"writ")).await.unwrap();
}

/// Somebody appends rows to a table beside the graph, each in a version of its own.
async fn strangers(world: &World, branch: &BranchName, table: TableId, rows: &[&str]) {
    let process = world.process().await;
    let tree = process.newest_on(branch).await.table(table).unwrap().tree_ref();
    let store = &world.temp.store;
    for row in rows {
        let head = store.head(&tree).await.unwrap().unwrap();
        let opened = store.open_table(&tree.at(head)).await.unwrap();
        let files = staged_rows(store, &tree.path, vec![node_batch([(*row, 1)])]).await.unwrap();
        let outcome = store.commit_exact(&opened, &opened.stage_append(files, fresh_mark())).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed(_)));
    }
}

fn request(operation_id: OperationId, confirmation: &str, tables: &[TableId]) -> RepairRequest {
    RepairRequest {
        operation_id,
        digest: format!("repair {confirmation}"),
        actor: "operator".to_owned(),
        tables: tables.to_vec(),
        confirmation: confirmation.to_owned(),
        deadline: Instant::now() + Duration::from_secs(10),
    }
}

impl Process {
    async fn preview(&self, branch: &BranchName) -> RepairView {
        let newest = self.newest_on(branch).await;
        self.committer.preview_repair(newest.chain(), &[]).await.expect("a preview")
    }

    async fn repair(&self, operation: OperationId, confirmation: &str) -> Result<RepairOutcome, Failure> {
        let main = self.committer.catalog().main_chain();
        self.committer.repair(&main, request(operation, confirmation, &[])).await
    }

    async fn confirmed(&self) -> RepairOutcome {
        let confirmation = self.preview(&BranchName::Main).await.confirmation.expect("something to confirm");
        self.repair(fresh(), &confirmation).await.expect("the repair")
    }
}

fn undone(view: &RepairView) -> Vec<(String, usize)> {
    view.tables.iter().map(|table| (table.pinned.type_name.clone(), table.undone().len())).collect()
}

#[track_caller]
fn outdated(failure: &Failure) {
    let Problem::ReadSetChanged { member, .. } = &failure.problem else { panic!("{failure:?}") };
    assert_eq!((member, failure.effect, failure.retry), (&ReadSetMember::Repair, Effect::None, Retry::AfterReread));
    assert!(failure.message.contains("`omnigraph repair g`"), "{}", failure.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_intent_is_aborted_whatever_of_its_changes_was_made() {
    for (came, made) in [(Came::Armed, 0), (Came::HalfWay, 1), (Came::Applied, 2)] {
        let world = World::new().await;
        world.process().await.append(fresh(), "before", &TABLES).await.unwrap();
        let operation = torn(&world, came).await;
        let process = world.process().await;
        let refused = process.append(fresh(), "plain", &TABLES).await.unwrap_err();
        assert!(matches!(refused.problem, Problem::Corrupt { .. }), "{refused:?}");
        assert_eq!(refused.help.as_deref(), Some("omnigraph repair g"));
        assert!(refused.message.contains("`omnigraph repair g`"), "{}", refused.message);

        let before = process.newest().await;
        let view = process.preview(&BranchName::Main).await;
        assert_eq!(view, process.preview(&BranchName::Main).await, "a preview changes nothing");
        assert_eq!(process.newest().await.version(), before.version());
        assert_eq!(view.intent.as_ref().unwrap().version, before.version().next());
        assert_eq!((view.tables.len(), view.tables_fenced), (made, TABLES.len() - made), "{view:?}");
        for table in &view.tables {
            assert_eq!((table.undone().len(), table.undone()[0].rows), (1, 2), "{table:?}");
        }

        let repair = fresh();
        let outcome = process.repair(repair, view.confirmation.as_deref().unwrap()).await.unwrap();
        assert_eq!((outcome.left, outcome.version), (Vec::new(), before.version().next()));
        for ids in world.quiesced().await {
            assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["before"], "{came:?}");
        }
        let state = process.committer.operation(&BranchName::Main, repair).await.unwrap();
        assert!(matches!(state, OperationState::Done { kind: PublicationKind::Repair, .. }), "{state:?}");
        assert_eq!(process.newest().await.head(), before.head(), "a repair moves no head");

        process.append(fresh(), "plain", &TABLES).await.unwrap();
        let resent = process.append(operation, "mine", &TABLES).await.unwrap();
        assert!(matches!(resent, WriteOutcome::Committed(_)), "{resent:?}");
        for ids in world.quiesced().await {
            assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["before", "mine", "plain"]);
        }
    }
}

/// I-7: the owner wakes up after its version went to a repair, before its effects and before its publication.
#[tokio::test(flavor = "multi_thread")]
async fn owner_of_an_unreadable_intent_that_wakes_too_late_is_refused() {
    for path_part in ["nodes/1/_versions", "__manifest/_versions"] {
        let world = World::new().await;
        let hook = Arc::new(FaultHook::default());
        let owner = world.process_with(vec![hook.clone()], FailPoints::default()).await;
        let mut pause = hook.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, path_part));
        let operation = fresh();
        let writing = async { owner.append(operation, "mine", &TABLES).await };
        let repairing = async {
            pause.reached().await;
            tear(&world).await;
            let outcome = world.process().await.confirmed().await;
            assert_eq!(outcome.left, Vec::<String>::new());
            pause.release();
        };
        let (written, ()) = tokio::join!(writing, repairing);
        let failure = written.unwrap_err();
        assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "{path_part}: {failure:?}");
        assert_eq!((failure.effect, failure.retry), (Effect::None, Retry::SameRequest));
        assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()), "{path_part}");
        owner.append(operation, "mine", &TABLES).await.unwrap();
        assert!(world.quiesced().await.iter().all(|ids| ids.contains("mine")), "{path_part}");
    }
}

/// The repairer takes the version and dies before it fences a table: the owner, whose effects are all there, finds that it was undone.
#[tokio::test(flavor = "multi_thread")]
async fn owner_of_a_repaired_intent_fences_what_the_repairer_left() {
    let world = World::new().await;
    let hook = Arc::new(FaultHook::default());
    let owner = world.process_with(vec![hook.clone()], FailPoints::default()).await;
    let mut pause = hook.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    let writing = async { owner.append(fresh(), "mine", &TABLES).await };
    let repairing = async {
        pause.reached().await;
        tear(&world).await;
        let faults = Arc::new(FaultHook::default());
        let repairer = world.process_with(vec![faults.clone()], FailPoints::default()).await;
        let confirmation = repairer.preview(&BranchName::Main).await.confirmation.expect("something to confirm");
        faults.fail(FaultPlan::next(StoreCall::PutIfAbsent, "nodes/").ever());
        let _dead = repairer.repair(fresh(), &confirmation).await;
        pause.release();
    };
    let (written, ()) = tokio::join!(writing, repairing);
    let failure = written.unwrap_err();
    assert!(matches!(failure.problem, Problem::OperationRolledBack { .. }), "I-7: {failure:?}");
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_of_an_unreadable_intent_that_was_quicker_keeps_its_commit() {
    let world = World::new().await;
    let hook = Arc::new(FaultHook::default());
    let owner = world.process_with(vec![hook.clone()], FailPoints::default()).await;
    let mut pause = hook.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "__manifest/_versions"));
    let process = world.process().await;
    let looking = async {
        pause.reached().await;
        tear(&world).await;
        let view = process.preview(&BranchName::Main).await;
        pause.release();
        view
    };
    let (written, view) = tokio::join!(owner.append(fresh(), "mine", &TABLES), looking);
    written.unwrap();
    outdated(&process.repair(fresh(), view.confirmation.as_deref().unwrap()).await.unwrap_err());
    assert!(world.quiesced().await.iter().all(|ids| ids.contains("mine")));
    assert_eq!(process.preview(&BranchName::Main).await.confirmation, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_commits_are_undone_once_a_person_confirmed_them() {
    for (rows, written_before) in [(&["s"][..], true), (&["s"][..], false), (&["s", "t", "u"][..], true)] {
        let world = World::new().await;
        let process = world.process().await;
        process.append(fresh(), "before", &TABLES).await.unwrap();
        strangers(&world, &BranchName::Main, TABLES[0], rows).await;
        if written_before {
            let refused = process.append(fresh(), "plain", &TABLES[..1]).await.unwrap_err();
            assert!(matches!(refused.problem, Problem::TableOccupied { .. }), "{refused:?}");
            assert_eq!(refused.help.as_deref(), Some("omnigraph repair g"));
        }
        let view = process.preview(&BranchName::Main).await;
        assert_eq!((view.intent.clone(), undone(&view)), (None, vec![("A".to_owned(), rows.len())]));
        let found: Vec<u64> = view.tables[0].undone().iter().map(|found| found.rows).collect();
        assert_eq!(found, (2..).take(rows.len()).collect::<Vec<_>>(), "each has one row more");

        // What others do to other tables does not outdate it.
        process.append(fresh(), "other", &TABLES[1..]).await.unwrap();
        let outcome = process.repair(fresh(), view.confirmation.as_deref().unwrap()).await.unwrap();
        assert_eq!(outcome.left, Vec::<String>::new());
        process.append(fresh(), "plain", &TABLES[..1]).await.unwrap();
        let ids = world.quiesced().await;
        assert_eq!(ids[0].iter().collect::<Vec<_>>(), ["before", "plain"], "{rows:?}");
        assert_eq!(ids[1].iter().collect::<Vec<_>>(), ["before", "other"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn confirmation_of_another_state_is_refused_and_nothing_is_done() {
    let world = World::new().await;
    let process = world.process().await;
    strangers(&world, &BranchName::Main, TABLES[0], &["s"]).await;
    let view = process.preview(&BranchName::Main).await;
    let confirmation = view.confirmation.as_deref().unwrap();
    strangers(&world, &BranchName::Main, TABLES[0], &["t"]).await;
    let failure = process.repair(fresh(), confirmation).await.unwrap_err();
    outdated(&failure);
    let after = process.preview(&BranchName::Main).await;
    assert_eq!((after.version, undone(&after)), (view.version, vec![("A".to_owned(), 2)]));
    assert_ne!(after.confirmation, view.confirmation);
    assert_eq!(process.confirmed().await.left, Vec::<String>::new());
    // Once it is done there is nothing to confirm.
    outdated(&process.repair(fresh(), confirmation).await.unwrap_err());
    assert!(world.quiesced().await[0].is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn chosen_table_is_repaired_and_others_stay() {
    let world = World::new().await;
    let process = world.process().await;
    strangers(&world, &BranchName::Main, TABLES[0], &["s"]).await;
    strangers(&world, &BranchName::Main, TABLES[1], &["t"]).await;
    let main = process.committer.catalog().main_chain();
    let view = process.committer.preview_repair(&main, &TABLES[1..]).await.unwrap();
    let confirmation = view.confirmation.unwrap();
    process.committer.repair(&main, request(fresh(), &confirmation, &TABLES[1..])).await.unwrap();
    assert_eq!(undone(&process.preview(&BranchName::Main).await), [("A".to_owned(), 1)]);
    process.append(fresh(), "b", &TABLES[1..]).await.unwrap();
    process.confirmed().await;
    world.quiesced().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_intent_concerns_every_table() {
    let world = World::new().await;
    torn(&world, Came::Armed).await;
    let process = world.process().await;
    let main = process.committer.catalog().main_chain();
    let failure = process.committer.preview_repair(&main, &TABLES[..1]).await.unwrap_err();
    assert_eq!(failure.problem, Problem::InvalidRequest { field: "types".to_owned() });
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_intent_and_foreign_commit_are_repaired_together() {
    let world = World::new().await;
    torn(&world, Came::HalfWay).await;
    strangers(&world, &BranchName::Main, TABLES[0], &["s"]).await;
    let process = world.process().await;
    assert_eq!(undone(&process.preview(&BranchName::Main).await), [("A".to_owned(), 2)]);
    assert_eq!(process.confirmed().await.left, Vec::<String>::new());
    assert!(world.quiesced().await.iter().all(|ids| ids.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_pinned_version_is_reported_and_other_tables_go_on() {
    let world = World::new().await;
    world.process().await.append(fresh(), "before", &TABLES).await.unwrap();
    let versions = world.process().await.newest().await.table(TABLES[0]).unwrap().path.child("_versions");
    // Lance numbers them downwards: the first name is the newest version.
    let names = world.temp.store.list_children(&versions).await.unwrap();
    world.temp.store.delete(&versions.child(&names[0])).await.unwrap();
    let process = world.process().await;
    let view = process.preview(&BranchName::Main).await;
    let Standing::Damaged { damage, version } = view.tables[0].standing else { panic!("{view:?}") };
    assert_eq!((damage, version, view.confirmation.clone()), (Damage::Missing, view.tables[0].pinned.version, None));
    let failure = process.repair(fresh(), "anything").await.unwrap_err();
    assert!(matches!(failure.problem, Problem::Corrupt { .. }), "{failure:?}");
    assert!(failure.message.contains("from a backup"), "{}", failure.message);
    process.append(fresh(), "b", &TABLES[1..]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_is_repaired_in_its_own_trees_only() {
    let world = World::new().await;
    let process = world.process().await;
    process.append(fresh(), "before", &TABLES).await.unwrap();
    let branch: BranchName = "it's".parse().unwrap();
    crate::branches::create(&process, fresh(), branch.as_str()).await.unwrap();
    // After a pin in main's tree nothing is written for the branch, so nothing there concerns it.
    strangers(&world, &BranchName::Main, TABLES[0], &["s"]).await;
    assert_eq!(process.preview(&branch).await.tables, []);
    process.append_on(&branch, fresh(), "own", &TABLES[..1]).await.unwrap();
    strangers(&world, &branch, TABLES[0], &["t"]).await;
    let refused = process.append_on(&branch, fresh(), "more", &TABLES[..1]).await.unwrap_err();
    assert_eq!(refused.help.as_deref(), Some(r"omnigraph repair g --branch 'it'\''s'"));
    let view = process.preview(&branch).await;
    let chain = process.newest_on(&branch).await.chain().clone();
    let confirmed = request(fresh(), view.confirmation.as_deref().unwrap(), &[]);
    assert_eq!(process.committer.repair(&chain, confirmed).await.unwrap().left, Vec::<String>::new());
    process.append_on(&branch, fresh(), "more", &TABLES[..1]).await.unwrap();
    assert_eq!(world.quiesced_on(&branch).await[0].iter().collect::<Vec<_>>(), ["before", "more", "own"]);
}

/// What a repairer is to mend.
#[derive(Debug, Clone, Copy)]
enum Harm {
    TornIntent,
    ForeignCommits,
}

async fn die_at_every_call(harm: Harm, kill: impl Fn(&DyingHook, i64)) {
    for calls in 0..CALLS_MAX {
        let world = World::new().await;
        world.process().await.append(fresh(), "before", &TABLES).await.unwrap();
        match harm {
            Harm::TornIntent => {
                let process = world.process().await;
                let newest = process.newest().await;
                let path = process.committer.catalog().paths().intent(newest.branch_id(), newest.version().next());
                world.temp.store.put(&path, Bytes::from_static(b"torn")).await.unwrap();
                strangers(&world, &BranchName::Main, TABLES[1], &["of the unknown attempt"]).await;
            }
            Harm::ForeignCommits => strangers(&world, &BranchName::Main, TABLES[0], &["s", "t"]).await,
        }
        let hook = DyingHook::immortal();
        let dying = world.process_with(vec![hook.clone()], FailPoints::default()).await;
        let confirmation = dying.preview(&BranchName::Main).await.confirmation.unwrap();
        let repair = fresh();
        kill(&hook, calls);
        let outcome = dying.repair(repair, &confirmation).await;
        if let Err(failure) = &outcome {
            assert!(hook.is_dead(), "{harm:?}, call {calls}: {failure:?}");
        }
        let survivor = world.process().await;
        let again = survivor.repair(repair, &confirmation).await;
        let again = again.unwrap_or_else(|failure| panic!("{harm:?}, call {calls}: {failure:?}"));
        assert_eq!(again.left, Vec::<String>::new(), "{harm:?}, call {calls}");
        survivor.append(fresh(), "plain", &TABLES).await.expect("a plain write");
        survivor.settle().await;
        for ids in world.quiesced().await {
            assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["before", "plain"], "{harm:?}, call {calls}");
        }
        if outcome.is_ok() && !hook.is_dead() {
            return;
        }
    }
    panic!("a repair takes more than {CALLS_MAX} store calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn repairer_of_an_intent_that_dies_before_any_store_call_is_followed_by_another() {
    die_at_every_call(Harm::TornIntent, DyingHook::die_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repairer_of_an_intent_that_dies_with_its_reply_lost_is_followed_by_another() {
    die_at_every_call(Harm::TornIntent, DyingHook::die_with_lost_reply_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repairer_of_a_table_that_dies_before_any_store_call_is_followed_by_another() {
    die_at_every_call(Harm::ForeignCommits, DyingHook::die_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repairer_of_a_table_that_dies_with_its_reply_lost_is_followed_by_another() {
    die_at_every_call(Harm::ForeignCommits, DyingHook::die_with_lost_reply_after).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fault_at_any_fail_point_of_a_repair_leaves_it_done_or_to_be_sent_again() {
    for point in points().into_iter().filter(|point| point.writer.as_str() == "repair") {
        for (action, torn_intent) in [("error", false), ("lose", false), ("error", true), ("lose", true)] {
            // The version of an unreadable intent is taken without a ticket.
            if torn_intent && point.phase == Phase::Arm {
                continue;
            }
            let world = World::new().await;
            if torn_intent {
                torn(&world, Came::HalfWay).await;
            } else {
                strangers(&world, &BranchName::Main, TABLES[0], &["s"]).await;
            }
            let actions = failing(&format!("g/{point}={action}"));
            let process = world.process_with(Vec::new(), actions.clone()).await;
            let confirmation = process.preview(&BranchName::Main).await.confirmation.expect("something to confirm");
            let repair = fresh();
            let _ = process.repair(repair, &confirmation).await;
            assert!(actions.is_spent(), "{point} was not hit");
            let again = process.repair(repair, &confirmation).await;
            let again = again.unwrap_or_else(|failure| panic!("{point}={action}: {failure:?}"));
            assert_eq!(again.left, Vec::<String>::new(), "{point}={action}");
            process.append(fresh(), "plain", &TABLES).await.expect("a plain write");
            for ids in world.quiesced().await {
                assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["plain"], "{point}={action}");
            }
        }
    }
}
