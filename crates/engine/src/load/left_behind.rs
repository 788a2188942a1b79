//! What a load has written and nothing names: removed as soon as it is certain that nothing ever will.
//!
//! Certain is what the request's effect says: before the first put that may decide, and again once every such put is refuted, no attempt of the
//! request can be published. The answer is given with that, so that no attempt begins after it. A load that never was prepared has no attempts.
//! Invariants: nothing is removed while the outcome is open; what an interrupted attempt has applied and undone stays for the cleanup, because versions
//! of its tables name it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omnigraph_storage::{ObjectPath, Store, TreeRef};
use omnigraph_types::mutant;
use omnigraph_types::{Effect, Failure, Problem, RequestEffect};
use tokio::runtime::Handle;

/// The list of what a load has written. Cheap to clone; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    shared: Arc<Mutex<Things>>,
}

#[derive(Debug, Default)]
struct Things {
    files: Vec<ObjectPath>,
    trees: Vec<TreeRef>,
    preparation: Preparation,
}

/// Whether the write protocol has asked for an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Preparation {
    #[default]
    NotBegun,
    Begun,
}

impl Written {
    fn lock(&self) -> MutexGuard<'_, Things> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt is being prepared.
    pub(crate) fn preparation_begins(&self) {
        self.lock().preparation = Preparation::Begun;
    }

    /// These files were written.
    pub(crate) fn files(&self, files: impl IntoIterator<Item = ObjectPath>) {
        self.lock().files.extend(files);
    }

    /// This tree was made, with everything in it.
    pub(crate) fn tree(&self, tree: TreeRef) {
        self.lock().trees.push(tree);
    }
}

/// Whether the refusal is about an attempt that may have applied what it staged.
fn may_be_applied(refusal: &Failure) -> bool {
    match &refusal.problem {
        Problem::OperationRolledBack { .. } | Problem::RecoveryRequired { .. } => true,
        Problem::TableOccupied { .. } => mutant!(162, true, false),
        Problem::ReadSetChanged { .. } => mutant!(163, false, true),
        _ => false,
    }
}

/// Removes what a load has written, when it ends or is dropped.
#[derive(Debug)]
pub(crate) struct LeftBehind {
    store: Store,
    effect: RequestEffect,
    written: Written,
}

impl LeftBehind {
    pub(crate) fn new(store: Store, effect: RequestEffect) -> Self {
        Self { store, effect, written: Written::default() }
    }

    pub(crate) fn written(&self) -> &Written {
        &self.written
    }

    /// Removes what is certainly named by nothing after this outcome.
    pub(crate) async fn end<T>(self, outcome: &Result<T, Failure>) {
        let things = self.unnamed();
        if !outcome.as_ref().is_err_and(may_be_applied) {
            remove(&self.store, things).await;
        }
    }

    /// Takes from the list what no attempt can name any more.
    fn unnamed(&self) -> Things {
        let mut written = self.written.lock();
        let may_be_named = match written.preparation {
            Preparation::NotBegun => false,
            Preparation::Begun => mutant!(164, self.effect.answer() != Effect::None, false),
        };
        let things = std::mem::take(&mut *written);
        if may_be_named { Things::default() } else { things }
    }
}

impl Drop for LeftBehind {
    fn drop(&mut self) {
        let (store, things) = (self.store.clone(), self.unnamed());
        // Without a runtime the files stay for the cleanup.
        if let (false, Ok(runtime)) = (things.files.is_empty() && things.trees.is_empty(), Handle::try_current()) {
            runtime.spawn(async move { remove(&store, things).await });
        }
    }
}

async fn remove(store: &Store, things: Things) {
    if let Err(error) = store.discard(&things.files).await {
        tracing::warn!(%error, "files of a refused load stay for the cleanup");
    }
    for tree in &things.trees {
        if let Err(error) = store.discard_tree(tree).await {
            tracing::warn!(%error, %tree, "a tree of a refused load stays for the cleanup");
        }
    }
}
