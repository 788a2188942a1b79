//! Versions of one chain: the newest, or a given one, read and completed.

use omnigraph_storage::{Pin, Table};
use omnigraph_types::mutant;
use omnigraph_types::{GraphVersion, TableVersion};

use crate::base;
use crate::chain::Chain;
use crate::context::Context;
use crate::error::CatalogError;
use crate::format::v2::decode_state;
use crate::history;
use crate::snapshot::{Author, Proof, Snapshot};
use crate::state::State;

impl Context {
    /// The newest version of a chain, proven newest: by a probe forward from what this process knows, or by listing. It may be `retired`: then
    /// it is the last, and the store is asked no more.
    pub(crate) async fn newest_of(&self, chain: &Chain) -> Result<Snapshot, CatalogError> {
        let clock = self.clock.as_ref();
        // A chain that has ended takes no further publication.
        if let Some(last) = self.known(chain.branch_id).filter(|known| known.state().retired.is_some()) {
            return Ok(last.proven(Proof::now(clock)));
        }
        let is_fresh = |known: &Snapshot| mutant!(102, known.proof_age(clock) <= self.proof_age_max(), true);
        let known = self.known(chain.branch_id).filter(is_fresh);
        let proof = Proof::now(clock);
        let tree = self.tree_of(chain);
        let version = match &known {
            Some(snapshot) => self.store.head_from(&tree, TableVersion(snapshot.version().0)).await?,
            None => self.store.head(&tree).await?.ok_or_else(|| CatalogError::Corrupt {
                object: format!("the chain of branch {}", chain.name),
                expected: "at least one version".to_owned(),
            })?,
        };
        let snapshot = match known {
            Some(snapshot) if snapshot.version().0 == version.0 => snapshot.proven(proof),
            _ => self.open_version(chain, GraphVersion(version.0), proof).await?,
        };
        self.remember(&snapshot);
        Ok(snapshot)
    }

    /// One version of a chain, which must exist.
    pub(crate) async fn at_version(&self, chain: &Chain, version: GraphVersion) -> Result<Snapshot, CatalogError> {
        self.open_version(chain, version, Proof::now(self.clock.as_ref())).await
    }

    async fn open_version(&self, chain: &Chain, version: GraphVersion, proof: Proof) -> Result<Snapshot, CatalogError> {
        let pin = Pin { tree: self.tree_of(chain), version: TableVersion(version.0) };
        let table = self.store.open_table(&pin).await?;
        let state = self.read_state(chain, &table, version).await?;
        if let Some(newer) = &state.newer {
            tracing::warn!(graph = %self.name, branch = %chain.name, %version, what = %newer.what,
                "a newer server has written to this branch: it can be read, and not written until this server is upgraded");
        }
        Ok(Snapshot::new(self.store.clone(), chain.clone(), (table, state), Author::Anywhere, proof))
    }

    async fn read_state(&self, chain: &Chain, table: &Table, version: GraphVersion) -> Result<State, CatalogError> {
        let state_fragment = table.fragments().iter().map(|fragment| fragment.id).max();
        let state_fragment = state_fragment.ok_or_else(|| CatalogError::Corrupt {
            object: format!("version {version} of branch {}", chain.name),
            expected: "a state".to_owned(),
        })?;
        let batches = history::read_rows(table, &[state_fragment]).await?;
        let mut state = decode_state(&batches, version)?;
        base::complete(&mut state, table, self.known(chain.branch_id).as_ref()).await?;
        if state.branch_id == chain.branch_id {
            Ok(state)
        } else {
            // The version that the branch was cloned from: it has not published by itself yet.
            Ok(state.inherited_by(chain.branch_id))
        }
    }
}
