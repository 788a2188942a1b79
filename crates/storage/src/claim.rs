//! The root as a whole: made or found when it is opened, and proven to be the same one afterwards.

use object_store::path::Path;
use omnigraph_types::mutant;
use omnigraph_types::{Moment, RootId};
use tokio::sync::watch;

use crate::blame::object_error;
use crate::guard::RootProofs;
use crate::marker::{MARKER, NOTHING_STORED, NewRoot, RootClaim, RootFault, RootOrigin, RootState, decode, encode};
use crate::remote::unusable;
use crate::{Certainty, ObjectPath, PutOutcome, StorageError, Store, StoreKind};

/// Names of what is stored at a place that is no root, for the refusal.
const NAMES_SHOWN_MAX: usize = 3;

impl Store {
    /// Finds the root's marker, or makes a root where `new` permits it. From then on every write is preceded by a proof, at most
    /// `proofs.age_max` old, that the root still has this marker.
    ///
    /// # Errors
    /// `NoRoot` and `RootNotEmpty` where no root may be made; `StoreUnusable` with the way out if the store cannot be used at all; `Corrupt` for a marker
    /// that is none; any failure of the store.
    pub async fn claim_root(&self, new: NewRoot, proofs: RootProofs) -> Result<RootClaim, StorageError> {
        let started = Moment::now(proofs.clock.as_ref());
        let marker = ObjectPath::new(MARKER);
        let mut origin = RootOrigin::Found;
        let mut found = self.get(&marker).await.map_err(|error| unusable(self.kind(), error))?;
        if found.is_none() {
            let content = self.content().await?;
            // Another server may have made this root a moment ago.
            found = self.get(&marker).await?;
            if found.is_none() {
                mutant!(132, self.permit(new, content)?, ());
            }
        }
        if found.is_none() {
            let put = self.put_if_absent(&marker, encode(RootId(proofs.clock.mint()))).await;
            match put.map_err(|error| unusable(self.kind(), error))? {
                PutOutcome::Created => origin = RootOrigin::Made,
                PutOutcome::AlreadyExists => {}
            }
            found = self.get(&marker).await?;
        }
        let missing = || object_error("read the marker of the root", &marker, RootFault::Missing.error());
        let found = found.ok_or_else(missing)?;
        let id = decode(&found.bytes).map_err(|error| StorageError::Corrupt {
            object: marker.to_string(),
            expected: "the marker of a root of format 2",
            source: Box::new(error),
        })?;
        self.guard().claim(self.location(&marker), found.bytes, proofs, started);
        Ok(RootClaim { id, origin })
    }

    /// Proves now that the root is the one that was claimed: after something that must exist was not found.
    pub async fn prove_root(&self) -> Result<(), StorageError> {
        self.guard().prove(self.objects_past_hooks()).await.map_err(|error| StorageError::Store {
            action: "read the marker of the root",
            object: MARKER.to_owned(),
            certainty: Certainty::NotApplied,
            source: Box::new(error),
        })
    }

    /// Vouches for what this process has written: repeats the syncs that failed. Before a write is acknowledged.
    ///
    /// # Errors
    /// With certainty `Unknown`: what was written may not outlast a loss of power.
    pub async fn vouch(&self) -> Result<(), StorageError> {
        self.guard().settle().await.map_err(|error| StorageError::Store {
            action: "sync the folders of the root again",
            object: self.root().to_owned(),
            certainty: Certainty::Unknown,
            source: Box::new(error),
        })
    }

    /// Whether the root is the one that was claimed, as far as is known, and every change of that.
    pub fn root_state(&self) -> watch::Receiver<RootState> {
        self.guard().state()
    }

    /// Whether a root may be made at this place, which has none.
    fn permit(&self, new: NewRoot, content: Vec<String>) -> Result<(), StorageError> {
        let root = self.root().to_owned();
        if !content.is_empty() {
            return Err(StorageError::RootNotEmpty { root, content });
        }
        match (new, self.kind()) {
            (NewRoot::WhereNothingIs, _) | (NewRoot::InEmptyFolder, StoreKind::Local) => Ok(()),
            (NewRoot::InEmptyFolder, StoreKind::S3 | StoreKind::Azure) | (NewRoot::Never, _) => {
                Err(StorageError::NoRoot { root })
            }
        }
    }

    /// The first names that are stored below a root without a marker.
    async fn content(&self) -> Result<Vec<String>, StorageError> {
        let root = self.root_path();
        let below = (*root != Path::default()).then_some(root);
        let listed = self.objects().list_with_delimiter(below).await;
        let listed = listed.map_err(|error| object_error("list the root", self.root(), error))?;
        let names = listed.objects.iter().map(|meta| &meta.location).chain(&listed.common_prefixes);
        let mut names: Vec<_> =
            names.filter_map(Path::filename).filter(|name| !NOTHING_STORED.contains(name)).collect();
        names.sort_unstable();
        Ok(names.into_iter().take(NAMES_SHOWN_MAX).map(str::to_owned).collect())
    }
}
