//! Syncs of one folder at once, in unlucky orders.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use async_trait::async_trait;

use super::*;
use crate::hook::{AfterVerdict, HookVerdict, StoreCall, StoreReply};

/// Hands each sync to the test, which says what becomes of it and when.
#[derive(Debug)]
struct Asked(Mutex<Sender<Sender<SyncVerdict>>>);

#[async_trait]
impl StoreHook for Asked {
    async fn before(&self, _: StoreCall, _: &str) -> HookVerdict {
        HookVerdict::Proceed
    }

    async fn after(&self, _: StoreCall, _: &str, _: StoreReply) -> AfterVerdict {
        AfterVerdict::Pass
    }

    fn sync(&self, _: SyncOf, _: &str) -> SyncVerdict {
        let (verdict, given) = channel();
        lock(&self.0).send(verdict).unwrap();
        given.recv().unwrap()
    }
}

struct World {
    syncs: Arc<Syncs>,
    begun: Receiver<Sender<SyncVerdict>>,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (asked, begun) = channel();
        let hooks: Vec<Arc<dyn StoreHook>> = vec![Arc::new(Asked(Mutex::new(asked)))];
        Self { syncs: Arc::new(Syncs::new(folder.path().to_owned(), Syncing::On, hooks)), begun, folder }
    }

    /// Begins a sync, which ends once its verdict is given.
    fn begin(&self) -> (thread::JoinHandle<io::Result<()>>, Sender<SyncVerdict>) {
        let (syncs, path) = (self.syncs.clone(), self.folder.path().to_owned());
        let sync = thread::spawn(move || syncs.folder(&path));
        (sync, self.begun.recv().unwrap())
    }

    fn sync(&self, verdict: SyncVerdict) {
        end(self.begin(), verdict);
    }
}

fn end((sync, given): (thread::JoinHandle<io::Result<()>>, Sender<SyncVerdict>), verdict: SyncVerdict) {
    let is_failed = matches!(verdict, SyncVerdict::Fail);
    given.send(verdict).unwrap();
    assert_eq!(sync.join().unwrap().is_err(), is_failed);
}

#[test]
fn second_failure_is_final_although_a_sync_beside_it_succeeds_first() {
    let world = World::new();
    world.sync(SyncVerdict::Fail);
    let second = world.begin();
    world.sync(SyncVerdict::Proceed);
    end(second, SyncVerdict::Fail);
    assert!(world.syncs.has_stopped());
}

#[test]
fn success_that_began_before_a_failure_proves_nothing_about_it() {
    let world = World::new();
    let early = world.begin();
    world.sync(SyncVerdict::Fail);
    end(early, SyncVerdict::Proceed);
    assert!(!world.syncs.is_settled() && !world.syncs.has_stopped());
    world.sync(SyncVerdict::Proceed);
    assert!(world.syncs.is_settled());
}

#[test]
fn two_syncs_that_fail_at_once_are_final() {
    let world = World::new();
    let (first, second) = (world.begin(), world.begin());
    end(first, SyncVerdict::Fail);
    end(second, SyncVerdict::Fail);
    assert!(world.syncs.has_stopped());
}
