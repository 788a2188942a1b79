//! A branch as a value.

use omnigraph_types::{BranchId, BranchName, CommitId, GraphName};
use omnigraph_wire::v1;

use super::{milliseconds, parsed, present};
use crate::ClientError;

/// One branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchInfo {
    /// Its name.
    pub name: BranchName,
    /// The graph.
    pub graph: GraphName,
    /// Its id. A name may pass to another branch, an id never does.
    pub id: BranchId,
    /// Its head.
    pub head: CommitId,
    /// What it was made from, by the name that the source had; none for `main`.
    pub source: Option<BranchName>,
    /// The commit that it was made from; none for `main`.
    pub source_commit: Option<CommitId>,
    /// When it was made: milliseconds since 1970-01-01T00:00:00Z.
    pub created_ms: u64,
    /// Hash of its schema.
    pub schema_hash: String,
}

impl BranchInfo {
    pub(crate) fn from_wire(branch: v1::Branch) -> Result<Self, ClientError> {
        let source = Some(branch.source_branch).filter(|name| !name.is_empty());
        let source_commit = Some(branch.source_commit).filter(|id| !id.is_empty());
        Ok(Self {
            name: parsed(&branch.branch, "a branch's name")?,
            graph: parsed(&branch.graph, "a branch's graph")?,
            id: parsed(&branch.branch_id, "a branch's id")?,
            head: parsed(&branch.head, "a branch's head")?,
            source: source.map(|name| parsed(&name, "the name of a branch's source")).transpose()?,
            source_commit: source_commit.map(|id| parsed(&id, "the commit of a branch's source")).transpose()?,
            created_ms: milliseconds(branch.create_time),
            schema_hash: branch.schema_hash,
        })
    }

    /// A branch that must be there.
    pub(crate) fn expected(branch: Option<v1::Branch>) -> Result<Self, ClientError> {
        Self::from_wire(present(branch, "no branch")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01JZ8Q6Y3V5B7N9D1F3H5K7M9P";

    fn of_main() -> v1::Branch {
        v1::Branch {
            name: "graphs/airline/branches/main".to_owned(),
            graph: "airline".to_owned(),
            branch: "main".to_owned(),
            branch_id: ID.to_owned(),
            head: ID.to_owned(),
            source_branch: String::new(),
            source_commit: String::new(),
            create_time: Some(prost_types::Timestamp { seconds: 1, nanos: 2_000_000 }),
            schema_hash: "abc".to_owned(),
        }
    }

    #[test]
    fn main_has_no_source_and_another_branch_has_one() {
        let info = BranchInfo::from_wire(of_main()).unwrap();
        assert_eq!((info.name, info.source, info.source_commit), (BranchName::Main, None, None));
        assert_eq!(info.created_ms, 1_002);
        let named = v1::Branch {
            branch: "trial/a".to_owned(),
            source_branch: "main".to_owned(),
            source_commit: ID.to_owned(),
            ..of_main()
        };
        let info = BranchInfo::from_wire(named).unwrap();
        assert_eq!((info.source, info.source_commit), (Some(BranchName::Main), Some(ID.parse().unwrap())));
    }

    #[test]
    fn branch_without_a_head_is_not_understood() {
        let error = BranchInfo::from_wire(v1::Branch { head: String::new(), ..of_main() }).unwrap_err();
        assert!(matches!(error, ClientError::Answer { what: "a branch's head" }), "{error}");
    }
}
