//! Rows, states and publications with something in every field, drawn from a seed.

use std::collections::{BTreeMap, BTreeSet};

use omnigraph_storage::{ObjectPath, TreeRef};
use omnigraph_types::{
    AttemptId, BranchId, CommitId, CommitKind, GraphId, GraphVersion, OperationId, TableId, TableVersion, TreeId,
    TypeKind,
};
use ulid::Ulid;

use crate::operations::{OperationEntry, Operations};
use crate::own_ids::{IdRange, OwnIds};
use crate::publication::{Change, PinChange, Precondition, Publication};
use crate::rows::{
    BranchRow, CommitOperation, CommitRow, DecidedBy, HistoryRow, PlannedTransactions, PublicationKind,
    PublicationResult, PublicationRow, RecoveryRow, Removal, RetentionRow, RetiredRow, TableCounts, TableRow,
    TableTransition, UnsettledRow,
};
use crate::state::{State, own_ids_with};

/// The version of every sampled state.
pub(super) const VERSION: GraphVersion = GraphVersion(9);

const TEXTS: [&str; 6] = ["anonymous", "Port", "ü/\"quoted\"", "omnigraph:recovery", "a b", "\u{1F6A2}"];
const PUBLICATION_KINDS: [PublicationKind; 11] = [
    PublicationKind::Commit,
    PublicationKind::Abort,
    PublicationKind::Settle,
    PublicationKind::BranchCreate,
    PublicationKind::Retire,
    PublicationKind::BranchDelete,
    PublicationKind::Repair,
    PublicationKind::Index,
    PublicationKind::Optimize,
    PublicationKind::Retention,
    PublicationKind::LoadAbort,
];
const COMMIT_KINDS: [CommitKind; 6] = [
    CommitKind::CreateGraph,
    CommitKind::Load,
    CommitKind::Mutate,
    CommitKind::Merge,
    CommitKind::SchemaApply,
    CommitKind::Group,
];
const DECIDED_BY: [DecidedBy; 4] = [DecidedBy::Own, DecidedBy::Abort, DecidedBy::Retire, DecidedBy::Repair];

/// A sequence of numbers that a seed determines.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of a version: Lance counts up to 2^63 - 1.
    fn version(&mut self) -> u64 {
        self.number() >> 1
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub(super) fn id(&mut self) -> Ulid {
        Ulid(u128::from(self.number()) << 60 | u128::from(self.number() >> 4))
    }

    fn text(&mut self) -> String {
        self.pick(&TEXTS).to_owned()
    }

    fn hash(&mut self) -> String {
        format!("{:064x}", self.number())
    }

    fn some<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| make(self))
    }

    fn several<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }
}

fn path(dice: &mut Dice) -> ObjectPath {
    ObjectPath::new(format!("{}/tables/nodes/{}", dice.id(), dice.below(1000)))
}

fn tree(dice: &mut Dice) -> TreeRef {
    TreeRef { path: path(dice), tree: dice.some(|dice| TreeId(dice.id())) }
}

fn kind(dice: &mut Dice) -> TypeKind {
    dice.pick(&[TypeKind::Node, TypeKind::Edge])
}

pub(super) fn table(dice: &mut Dice, id: u32) -> TableRow {
    TableRow {
        id: TableId(id),
        kind: kind(dice),
        type_name: dice.text(),
        path: path(dice),
        tree: dice.some(|dice| TreeId(dice.id())),
        owner: BranchId(dice.id()),
        version: TableVersion(dice.version()),
        row_count: dice.number(),
        content_commit: CommitId(dice.id()),
    }
}

fn counts(dice: &mut Dice) -> TableCounts {
    TableCounts {
        table: TableId(1 + dice.below(5) as u32),
        kind: kind(dice),
        type_name: dice.text(),
        inserted: dice.number(),
        updated: dice.number(),
        deleted: dice.number(),
        row_count: dice.number(),
    }
}

fn operations(dice: &mut Dice) -> Operations {
    let mut entries = vec![OperationEntry { operation_id: OperationId(dice.id()), digest: dice.hash() }];
    entries
        .extend(dice.several(3, |dice| OperationEntry { operation_id: OperationId(dice.id()), digest: dice.hash() }));
    Operations::try_from(entries).unwrap()
}

/// A commit that answers the operations, with counts of its own for each of several.
pub(super) fn commit(dice: &mut Dice, version: GraphVersion, operations: &Operations) -> CommitRow {
    let is_group = operations.count() > 1;
    let answered = operations.iter().map(|entry| CommitOperation {
        operation_id: entry.operation_id,
        actor: dice.text(),
        kind: dice.pick(&COMMIT_KINDS),
        counts: if is_group { dice.several(2, counts) } else { Vec::new() },
    });
    let answered: Vec<CommitOperation> = answered.collect();
    CommitRow {
        id: CommitId(dice.id()),
        parents: dice.several(2, |dice| CommitId(dice.id())),
        branch_id: BranchId(dice.id()),
        version,
        actor: CommitRow::actor_of(&answered).to_owned(),
        time_ms: dice.number(),
        kind: CommitRow::kind_of(&answered),
        schema_hash: dice.hash(),
        operations: answered,
        counts: dice.several(3, counts),
    }
}

fn publication_row(dice: &mut Dice, version: u64) -> PublicationRow {
    let result = match dice.below(4) {
        0 => PublicationResult::Commit(CommitId(dice.id())),
        1 => PublicationResult::Branch(BranchId(dice.id())),
        2 => PublicationResult::Undone(dice.text()),
        _ => PublicationResult::Nothing,
    };
    PublicationRow {
        version: GraphVersion(version),
        branch_id: BranchId(dice.id()),
        kind: dice.pick(&PUBLICATION_KINDS),
        decision: dice.pick(&DECIDED_BY).about(AttemptId(dice.id())),
        result,
        operations: operations(dice),
    }
}

fn unsettled(dice: &mut Dice) -> UnsettledRow {
    let uuids = dice.several(3, Dice::text);
    let transactions = match dice.below(2) {
        0 => PlannedTransactions::Listed(uuids),
        _ => PlannedTransactions::Confirmed { confirmed: uuids },
    };
    UnsettledRow {
        attempt_id: AttemptId(dice.id()),
        operation_id: OperationId(dice.id()),
        table: TableId(3),
        tree: tree(dice),
        expected: TableVersion(dice.version()),
        transactions,
    }
}

fn recovery(dice: &mut Dice) -> RecoveryRow {
    RecoveryRow {
        version: GraphVersion(dice.version()),
        kind: dice.pick(&PUBLICATION_KINDS),
        writer: dice.text(),
        operation_id: OperationId(dice.id()),
        attempt_id: AttemptId(dice.id()),
        original_actor: dice.text(),
        time_ms: dice.number(),
        reason: dice.text(),
        tables: dice.several(3, |dice| TableTransition {
            table: TableId(dice.below(9) as u32),
            from: TableVersion(dice.version()),
            to: TableVersion(dice.version()),
        }),
    }
}

pub(super) fn branch(dice: &mut Dice) -> BranchRow {
    BranchRow {
        branch_id: BranchId(dice.id()),
        name: "trial/ü".parse().unwrap(),
        tree: TreeId(dice.id()),
        source: BranchId(dice.id()),
        source_commit: CommitId(dice.id()),
        schema_hash: dice.hash(),
        created_ms: dice.number(),
        removed: dice.some(removal),
    }
}

pub(super) fn removal(dice: &mut Dice) -> Removal {
    Removal { time_ms: dice.number(), own_ids: own_ids(dice) }
}

fn own_ids(dice: &mut Dice) -> OwnIds {
    let operations = dice.some(|dice| IdRange { min: OperationId(dice.id()), max: OperationId(dice.id()) });
    OwnIds { operations, commits: dice.some(|dice| IdRange { min: CommitId(dice.id()), max: CommitId(dice.id()) }) }
}

pub(super) fn retired(dice: &mut Dice) -> RetiredRow {
    RetiredRow {
        operation_id: OperationId(dice.id()),
        digest: dice.hash(),
        attempt_id: AttemptId(dice.id()),
        actor: dice.text(),
        time_ms: dice.number(),
        own_ids: own_ids(dice),
    }
}

pub(super) fn retention(dice: &mut Dice) -> RetentionRow {
    let floors = dice.several(3, |dice| (BranchId(dice.id()), GraphVersion(dice.version())));
    RetentionRow { time_ms: dice.number(), floors: floors.into_iter().collect() }
}

fn history(dice: &mut Dice) -> HistoryRow {
    HistoryRow {
        fragment: dice.number(),
        level: dice.below(9) as u32,
        operations: dice.number(),
        version_min: GraphVersion(dice.version()),
        version_max: GraphVersion(dice.version()),
        operation_min: OperationId(dice.id()),
        operation_max: OperationId(dice.id()),
        commits: dice.some(|dice| (CommitId(dice.id()), CommitId(dice.id()))),
    }
}

/// A state with a row of every kind but `base`: what is read is then what was written, whole.
pub(super) fn state(dice: &mut Dice) -> State {
    let answered = [operations(dice), operations(dice)];
    let commits: Vec<CommitRow> = answered.iter().map(|answered| commit(dice, VERSION, answered)).collect();
    let mut recoveries = vec![recovery(dice)];
    recoveries.extend(dice.several(2, recovery));
    let mut branches = vec![branch(dice)];
    branches.extend(dice.several(2, branch));
    let publications: Vec<PublicationRow> = (5..=VERSION.0).map(|version| publication_row(dice, version)).collect();
    State {
        graph_id: GraphId(dice.id()),
        main_branch_id: BranchId(dice.id()),
        branch_id: BranchId(dice.id()),
        version: VERSION,
        schema_hash: dice.hash(),
        head: commits[1].id,
        tables: (1..4).map(|id| (TableId(id), table(dice, id))).collect::<BTreeMap<_, _>>(),
        commits,
        own_ids: publications.iter().fold(OwnIds::default(), own_ids_with),
        publications,
        unsettled: vec![unsettled(dice), unsettled(dice)],
        recoveries,
        history: vec![history(dice), history(dice)],
        branches: branches.into_iter().map(|row| (row.branch_id, row)).collect(),
        retired: Some(retired(dice)),
        retention: Some(retention(dice)),
        newer: None,
        base: None,
        tables_changed: BTreeSet::new(),
        branches_changed: BTreeSet::new(),
    }
}

fn preconditions(dice: &mut Dice) -> Vec<Precondition> {
    vec![
        Precondition::ExactHead(CommitId(dice.id())),
        Precondition::SchemaIs(dice.hash()),
        Precondition::PinIs {
            table: TableId(dice.below(9) as u32),
            tree: dice.some(|dice| TreeId(dice.id())),
            version: TableVersion(dice.version()),
        },
        Precondition::OperationUnseen(OperationId(dice.id())),
        Precondition::NameFree("trial".parse().unwrap()),
        Precondition::BranchLive(BranchId(dice.id())),
        Precondition::NoOtherBranches,
        Precondition::CommitRetained {
            commit: CommitId(dice.id()),
            branch_id: BranchId(dice.id()),
            version: GraphVersion(dice.version()),
        },
    ]
}

fn changes(dice: &mut Dice, operations: &Operations) -> Vec<Change> {
    vec![
        Change::Commit(commit(dice, VERSION, operations)),
        Change::Schema { hash: dice.hash() },
        Change::TableAdded(table(dice, 7)),
        Change::TableDropped { table: TableId(2) },
        Change::TableRenamed { table: TableId(1), type_name: dice.text() },
        Change::Pin(PinChange {
            table: TableId(dice.below(9) as u32),
            tree: dice.some(|dice| TreeId(dice.id())),
            owner: BranchId(dice.id()),
            version: TableVersion(dice.version()),
            row_count: dice.number(),
            content_commit: CommitId(dice.id()),
        }),
        Change::UnsettledAdded(unsettled(dice)),
        Change::UnsettledRemoved { attempt_id: AttemptId(dice.id()), table: TableId(1) },
        Change::Recovery(recovery(dice)),
        Change::Branch(branch(dice)),
        Change::Retired(retired(dice)),
        Change::Retention(retention(dice)),
    ]
}

/// A publication with every kind of precondition and of change.
pub(super) fn publication(dice: &mut Dice) -> Publication {
    let operations = operations(dice);
    Publication {
        kind: dice.pick(&PUBLICATION_KINDS),
        decision: dice.pick(&DECIDED_BY).about(AttemptId(dice.id())),
        preconditions: preconditions(dice),
        changes: changes(dice, &operations),
        operations,
    }
}
