//! Roots: made, found, refused, lost and found again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use omnigraph_storage::{
    Certainty, NewRoot, ObjectPath, PutOutcome, RootClaim, RootFault, RootOrigin, RootProofs, RootState, StorageError,
    Store, StoreKind,
};
use omnigraph_testkit::{EVERY_STORE, TempStore};
use omnigraph_types::{ManualClock, Problem, SystemClock};

use crate::{append_of, committed, table_with};

const AGE_MAX: Duration = Duration::from_secs(3);

fn intent() -> ObjectPath {
    ObjectPath::new("g/1.json")
}

const MINE: Bytes = Bytes::from_static(b"mine");

async fn claim(store: &Store, new: NewRoot) -> Result<RootClaim, StorageError> {
    store.claim_root(new, RootProofs { clock: Arc::new(SystemClock), age_max: AGE_MAX }).await
}

/// A claimed store whose proofs age when the clock is moved.
async fn claimed() -> (TempStore, Arc<ManualClock>) {
    let (temp, clock) = (TempStore::open().await, Arc::new(ManualClock::default()));
    let proofs = RootProofs { clock: clock.clone(), age_max: AGE_MAX };
    temp.store.claim_root(NewRoot::WhereNothingIs, proofs).await.unwrap();
    (temp, clock)
}

fn moved(temp: &TempStore) -> PathBuf {
    temp.folder().with_extension("moved")
}

#[tokio::test(flavor = "multi_thread")]
async fn root_is_made_once_and_found_with_its_id_afterwards() {
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let made = claim(&temp.store, NewRoot::WhereNothingIs).await.unwrap();
        assert_eq!(made.origin, RootOrigin::Made, "{kind:?}");
        let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
        let other = temp.reopen(Vec::new()).await;
        let found = claim(&other, NewRoot::WhereNothingIs).await.unwrap();
        assert_eq!((found.id, found.origin), (made.id, RootOrigin::Found), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn place_without_a_root_becomes_one_only_where_that_is_permitted() {
    for kind in EVERY_STORE {
        let temp = TempStore::of_kind(kind, Vec::new()).await;
        let refused = claim(&temp.store, NewRoot::Never).await;
        assert!(matches!(refused, Err(StorageError::NoRoot { .. })), "{kind:?}: {refused:?}");
        let claimed = claim(&temp.store, NewRoot::InEmptyFolder).await;
        if kind == StoreKind::Local {
            assert_eq!(claimed.unwrap().origin, RootOrigin::Made);
            continue;
        }
        assert!(matches!(claimed, Err(StorageError::NoRoot { .. })), "{kind:?}: {claimed:?}");
        let made = claim(&temp.store, NewRoot::WhereNothingIs).await.unwrap();
        let found = claim(&temp.reopen(Vec::new()).await, NewRoot::Never).await.unwrap();
        assert_eq!((found.id, found.origin), (made.id, RootOrigin::Found), "{kind:?}");
    }
}

#[tokio::test]
async fn racing_servers_make_one_root() {
    let temp = TempStore::open().await;
    let claims = (0..8).map(|_| async {
        let store = temp.reopen(Vec::new()).await;
        claim(&store, NewRoot::WhereNothingIs).await.unwrap()
    });
    let claims = futures::future::join_all(claims).await;
    assert!(claims.iter().all(|claim| claim.id == claims[0].id), "{claims:?}");
    assert_eq!(claims.iter().filter(|claim| claim.origin == RootOrigin::Made).count(), 1, "{claims:?}");
}

#[tokio::test]
async fn folder_of_something_else_never_becomes_a_root() {
    let temp = TempStore::open().await;
    std::fs::create_dir_all(temp.folder().join("lost+found")).unwrap();
    std::fs::write(temp.folder().join("README.md"), "a clone").unwrap();
    let refused = claim(&temp.store, NewRoot::WhereNothingIs).await.unwrap_err();
    assert!(matches!(refused, StorageError::RootNotEmpty { .. }), "{refused:?}");
    let failure = refused.failure();
    for named in [temp.folder().to_str().unwrap(), "README.md", "--init"] {
        assert!(failure.message.contains(named), "{failure}");
    }
    assert!(!temp.folder().join("__root.json").exists());
}

#[tokio::test]
async fn what_a_file_system_puts_into_an_empty_folder_is_nothing() {
    let temp = TempStore::open().await;
    std::fs::create_dir_all(temp.folder().join("lost+found")).unwrap();
    assert_eq!(claim(&temp.store, NewRoot::WhereNothingIs).await.unwrap().origin, RootOrigin::Made);
}

#[tokio::test]
async fn marker_that_is_none_is_corrupt() {
    let temp = TempStore::open().await;
    std::fs::write(temp.folder().join("__root.json"), "{}").unwrap();
    let refused = claim(&temp.store, NewRoot::Never).await.unwrap_err();
    assert!(matches!(refused, StorageError::Corrupt { .. }), "{refused:?}");
}

#[tokio::test]
async fn removed_root_takes_no_write_and_is_not_made_again() {
    let (temp, _clock) = claimed().await;
    let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
    let mut state = temp.store.root_state();
    assert_eq!(*state.borrow_and_update(), RootState::Proven);
    std::fs::rename(temp.folder(), moved(&temp)).unwrap();
    // The proof is young: the folder that would have to be made is the surprise.
    let error = temp.store.put_if_absent(&ObjectPath::new("g/2.json"), MINE).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotApplied, "{error:?}");
    assert!(!temp.folder().exists(), "the root is not made again");
    assert!(state.has_changed().unwrap());
    assert_eq!(*state.borrow_and_update(), RootState::Lost(RootFault::Missing));
    let failure = error.failure();
    assert_eq!(failure.problem, Problem::StorageUnavailable);
    assert!(failure.message.contains("removed or unmounted"), "{failure}");
    // It comes back, and takes writes at once.
    std::fs::rename(moved(&temp), temp.folder()).unwrap();
    assert_eq!(temp.store.put_if_absent(&ObjectPath::new("g/2.json"), MINE).await.unwrap(), PutOutcome::Created);
    assert_eq!(*state.borrow_and_update(), RootState::Proven);
}

#[tokio::test]
async fn replaced_root_takes_no_write() {
    let (temp, clock) = claimed().await;
    let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
    std::fs::rename(temp.folder(), moved(&temp)).unwrap();
    let other = temp.reopen(vec![]).await;
    claim(&other, NewRoot::WhereNothingIs).await.unwrap();
    // A folder must be made: the marker is read, however young the proof.
    let error = temp.store.put_if_absent(&ObjectPath::new("g/2.json"), MINE).await.unwrap_err();
    assert_eq!(*temp.store.root_state().borrow(), RootState::Lost(RootFault::Replaced), "{error:?}");
    assert!(!temp.folder().join("g").exists());
    // Once the other root has that folder, the proof's age is what counts.
    let _created = other.put_if_absent(&intent(), MINE).await.unwrap();
    clock.advance(AGE_MAX + Duration::from_millis(1));
    let error = temp.store.put_if_absent(&ObjectPath::new("g/2.json"), MINE).await.unwrap_err();
    assert_eq!(error.certainty(), Certainty::NotApplied, "{error:?}");
    std::fs::remove_dir_all(moved(&temp)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn proof_that_is_too_old_is_renewed_before_a_write() {
    for kind in EVERY_STORE {
        let (temp, clock) = (TempStore::of_kind(kind, Vec::new()).await, Arc::new(ManualClock::default()));
        let proofs = RootProofs { clock: clock.clone(), age_max: AGE_MAX };
        temp.store.claim_root(NewRoot::WhereNothingIs, proofs).await.unwrap();
        let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
        temp.store.delete(&ObjectPath::new("__root.json")).await.unwrap();
        temp.store.put(&ObjectPath::new("g/young.json"), MINE).await.unwrap();
        clock.advance(AGE_MAX + Duration::from_millis(1));
        let error = temp.store.put(&ObjectPath::new("g/old.json"), MINE).await.unwrap_err();
        assert_eq!(error.certainty(), Certainty::NotApplied, "{kind:?}: {error:?}");
        assert_eq!(temp.store.get(&ObjectPath::new("g/old.json")).await.unwrap(), None, "{kind:?}");
    }
}

#[tokio::test]
async fn version_that_is_missing_with_its_root_is_not_called_a_missing_version() {
    let (temp, _clock) = claimed().await;
    let table = table_with(&temp.store, &["a"]).await;
    let change = append_of(&temp.store, &table, &["b"]).await;
    let second = committed(temp.store.commit_exact(&table, &change).await);
    std::fs::rename(temp.folder(), moved(&temp)).unwrap();
    let other = temp.store.with_empty_caches(1 << 20);
    let error = other.open_table(&second.pin()).await.unwrap_err();
    assert!(matches!(error, StorageError::Store { .. }), "{error:?}");
    let error = temp.store.list_children(&ObjectPath::new("tables")).await.unwrap_err();
    assert!(matches!(error, StorageError::Store { .. }), "an empty list would be a lie: {error:?}");
    std::fs::rename(moved(&temp), temp.folder()).unwrap();
    assert_eq!(other.open_table(&second.pin()).await.unwrap().version(), second.version());
}

#[tokio::test]
async fn store_that_was_not_claimed_has_nothing_to_prove() {
    let temp = TempStore::open().await;
    assert_eq!(temp.store.kind(), StoreKind::Local);
    temp.store.prove_root().await.unwrap();
    let _created = temp.store.put_if_absent(&intent(), MINE).await.unwrap();
}
