//! Late commits beside a fence: of every kind of change that can be staged, on main trees and private ones, none lands.

use std::sync::Arc;

use futures::{StreamExt, stream};
use omnigraph_storage::{
    CommitOutcome, FileWriterOptions, Predicate, StagedChange, StagedFiles, StorageError, Store, StoreCall, Table,
    TransactionKind, TransactionMark, TreeRef,
};
use omnigraph_testkit::{FaultHook, FaultPlan, TempStore, fresh_mark, ids_in, node_batch};
use omnigraph_types::TreeId;
use ulid::Ulid;

use crate::{committed, occupant, table_with};

/// Every kind of change that can be staged on a version.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Append,
    AppendNothing,
    Overwrite,
    OverwriteByNothing,
    Upsert,
    UpsertNothing,
    Delete,
    DeleteAll,
    Replace,
    Restore,
}

const KINDS: [Kind; 10] = [
    Kind::Append,
    Kind::AppendNothing,
    Kind::Overwrite,
    Kind::OverwriteByNothing,
    Kind::Upsert,
    Kind::UpsertNothing,
    Kind::Delete,
    Kind::DeleteAll,
    Kind::Replace,
    Kind::Restore,
];

/// How far a commit has come when its table is fenced.
#[derive(Debug, Clone, Copy)]
enum Late {
    /// It is staged.
    Staged,
    /// It waits at its manifest, everything else being written.
    AtItsManifest,
}

/// On which tree the change is staged.
#[derive(Debug, Clone, Copy)]
enum On {
    Main,
    Private,
}

async fn files(store: &Store, tree: &TreeRef, ids: &[&str]) -> StagedFiles {
    let rows = node_batch(ids.iter().map(|id| (*id, 7)));
    let mut writer =
        store.write_files(&tree.path, tree.tree, rows.schema(), FileWriterOptions { rows_per_file_max: 10 });
    writer.write(rows).await.unwrap();
    writer.finish().await.unwrap()
}

/// A change that its owner has staged and not committed; a restore is staged by its commit.
enum Staged {
    Change(Box<StagedChange>),
    Restore(TransactionMark),
}

impl Staged {
    async fn commit(&self, store: &Store, base: &Table) -> Result<CommitOutcome, StorageError> {
        let pin = base.pin();
        match self {
            Self::Change(change) => store.commit_exact(base, change).await,
            Self::Restore(mark) => store.restore_exact(&pin.tree, pin.version, pin.version.next(), mark).await,
        }
    }
}

async fn stage(kind: Kind, store: &Store, base: &Table) -> Staged {
    let (tree, mark) = (base.pin().tree, fresh_mark());
    let among = |values: &[&str]| Predicate::IsIn {
        column: "id".to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let upsert = |ids: &[&'static str]| stream::iter([Ok(node_batch(ids.iter().map(|id| (*id, 7))))]).boxed();
    let change = match kind {
        Kind::Append => base.stage_append(files(store, &tree, &["late"]).await, mark),
        Kind::AppendNothing => base.stage_append(StagedFiles::empty(), mark),
        Kind::Overwrite => base.stage_overwrite(files(store, &tree, &["late"]).await, mark),
        Kind::OverwriteByNothing => base.stage_overwrite(StagedFiles::empty(), mark),
        Kind::Upsert => base.stage_upsert(upsert(&["a", "late"]), "id", mark).await.unwrap(),
        Kind::UpsertNothing => base.stage_upsert(stream::empty().boxed(), "id", mark).await.unwrap(),
        Kind::Delete => base.stage_delete(&among(&["a"]), mark).await.unwrap().unwrap(),
        Kind::DeleteAll => base.stage_delete(&among(&["a", "b"]), mark).await.unwrap().unwrap(),
        Kind::Replace => {
            let first = base.fragments()[0].id;
            base.stage_replace(&[first], files(store, &tree, &["late"]).await, mark)
        }
        Kind::Restore => return Staged::Restore(mark),
    };
    Staged::Change(Box::new(change))
}

/// An owner's store, its table at a version that is its tree's head, and the faults that the owner meets.
async fn owner(on: On) -> (TempStore, Table, Arc<FaultHook>) {
    let faults = Arc::new(FaultHook::default());
    let temp = TempStore::with_hooks(vec![faults.clone()]).await;
    let main = table_with(&temp.store, &["a", "b"]).await;
    let base = match on {
        On::Main => main,
        On::Private => {
            let tree = temp.store.create_tree(&main.pin(), TreeId(Ulid::new())).await.unwrap();
            temp.store.open_table(&tree.at(main.version())).await.unwrap()
        }
    };
    (temp, base, faults)
}

async fn fenced_against(kind: Kind, on: On, late: Late) {
    let case = format!("{kind:?} {on:?} {late:?}");
    let (temp, base, faults) = owner(on).await;
    let staged = stage(kind, &temp.store, &base).await;
    let (tree, slot) = (base.pin().tree, base.version().next());
    let fencing = temp.reopen(vec![]).await;
    let fence = fresh_mark();
    let outcome = match late {
        Late::Staged => {
            committed(fencing.restore_exact(&tree, base.version(), slot, &fence).await);
            staged.commit(&temp.store, &base).await
        }
        Late::AtItsManifest => {
            let mut pause = faults.pause_before(FaultPlan::next(StoreCall::PutIfAbsent, "_versions"));
            let fencing = async {
                pause.reached().await;
                committed(fencing.restore_exact(&tree, base.version(), slot, &fence).await);
                pause.release();
            };
            tokio::join!(staged.commit(&temp.store, &base), fencing).0
        }
    };
    let by = occupant(outcome);
    assert_eq!((by.uuid, by.kind), (fence.uuid.clone(), TransactionKind::Restore(base.version())), "{case}");
    // Tried again, it is late again.
    assert_eq!(occupant(staged.commit(&temp.store, &base).await).uuid, fence.uuid, "{case}");
    let process = temp.reopen(vec![]).await;
    assert_eq!(process.head(&tree).await.unwrap(), Some(slot), "{case}: nothing landed behind the fence");
    let head = process.open_table(&tree.at(slot)).await.unwrap();
    assert_eq!(ids_in(&head).await.unwrap(), ["a", "b"], "{case}");
    // The tree goes on from the fence.
    let next = head.stage_append(files(&process, &tree, &["next"]).await, fresh_mark());
    assert_eq!(
        ids_in(&committed(process.commit_exact(&head, &next).await)).await.unwrap(),
        ["a", "b", "next"],
        "{case}"
    );
}

#[tokio::test]
async fn late_commit_of_any_kind_never_lands_beside_a_fence() {
    for on in [On::Main, On::Private] {
        for kind in KINDS {
            for late in [Late::Staged, Late::AtItsManifest] {
                fenced_against(kind, on, late).await;
            }
        }
    }
}

/// A fence behind the attempt's own entry: committed again it is the entry that was there, and what it did stays undone.
#[tokio::test]
async fn commit_of_any_kind_that_landed_before_its_fence_stays_undone_when_it_is_tried_again() {
    for on in [On::Main, On::Private] {
        for kind in KINDS {
            let case = format!("{kind:?} {on:?}");
            let (temp, base, _) = owner(on).await;
            let staged = stage(kind, &temp.store, &base).await;
            let (tree, own) = (base.pin().tree, base.version().next());
            assert_eq!(committed(staged.commit(&temp.store, &base).await).version(), own, "{case}");
            let fencing = temp.reopen(vec![]).await;
            let fence = own.next();
            committed(fencing.restore_exact(&tree, base.version(), fence, &fresh_mark()).await);
            assert_eq!(committed(staged.commit(&temp.store, &base).await).version(), own, "{case}: where it was");
            assert_eq!(fencing.head(&tree).await.unwrap(), Some(fence), "{case}");
            let restored = fencing.open_table(&tree.at(fence)).await.unwrap();
            assert_eq!(ids_in(&restored).await.unwrap(), ["a", "b"], "{case}");
        }
    }
}
