//! Full resource names: `graphs/{graph}`, `graphs/{graph}/branches/{branch}`, `graphs/{graph}/commits/{commit_id}`.
//!
//! A branch's name may hold `/` and any other character: it is all that follows `branches/`, written as it is.

use std::fmt;
use std::str::FromStr;

use omnigraph_types::{BranchName, CommitId, GraphName, NameError};
use thiserror::Error;

/// Why a text is not a resource name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResourceNameError {
    /// The text has another form.
    #[error(
        "{0:?} is not a resource name: write graphs/GRAPH, graphs/GRAPH/branches/BRANCH or graphs/GRAPH/commits/COMMIT_ID"
    )]
    Form(String),
    /// A part of it is not a name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// What should be a commit's id is none.
    #[error("{0:?} is not a commit id: write its 26 characters")]
    CommitId(String),
}

/// A resource's full name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ResourceName {
    /// `graphs/{graph}`.
    Graph(GraphName),
    /// `graphs/{graph}/branches/{branch}`.
    Branch(GraphName, BranchName),
    /// `graphs/{graph}/commits/{commit_id}`.
    Commit(GraphName, CommitId),
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph(graph) => write!(f, "graphs/{graph}"),
            Self::Branch(graph, branch) => write!(f, "graphs/{graph}/branches/{branch}"),
            Self::Commit(graph, commit) => write!(f, "graphs/{graph}/commits/{commit}"),
        }
    }
}

impl FromStr for ResourceName {
    type Err = ResourceNameError;

    /// Parses a full resource name; fails on any other text.
    fn from_str(text: &str) -> Result<Self, ResourceNameError> {
        let form = || ResourceNameError::Form(text.to_owned());
        let mut parts = text.splitn(4, '/');
        if parts.next() != Some("graphs") {
            return Err(form());
        }
        let graph: GraphName = parts.next().ok_or_else(form)?.parse()?;
        match (parts.next(), parts.next()) {
            (None, _) => Ok(Self::Graph(graph)),
            (Some("branches"), Some(branch)) => Ok(Self::Branch(graph, branch.parse()?)),
            (Some("commits"), Some(id)) => {
                let id = id.parse().map_err(|_| ResourceNameError::CommitId(id.to_owned()))?;
                Ok(Self::Commit(graph, id))
            }
            _ => Err(form()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn name_of_another_form_is_refused() {
        for text in
            ["", "graph/a", "graphs", "graphs/", "graphs/A", "graphs/a/", "graphs/a/branches", "graphs/a/tags/x"]
        {
            assert!(text.parse::<ResourceName>().is_err(), "{text:?}");
        }
        let not_an_id = "graphs/a/commits/7".parse::<ResourceName>();
        assert_eq!(not_an_id, Err(ResourceNameError::CommitId("7".to_owned())));
        assert!(matches!("graphs/a/branches/".parse::<ResourceName>(), Err(ResourceNameError::Name(_))));
    }

    proptest! {
        #[test]
        fn branch_of_any_name_round_trips(graph in "[a-z0-9][a-z0-9_-]{0,62}", branch in "[^\\p{C}]{1,60}", id in any::<u128>()) {
            let graph: GraphName = graph.parse().unwrap();
            let commit = CommitId(ulid::Ulid::from(id));
            let names = [
                ResourceName::Graph(graph.clone()),
                ResourceName::Branch(graph.clone(), branch.parse().unwrap()),
                ResourceName::Commit(graph, commit),
            ];
            for name in names {
                assert_eq!(name.to_string().parse::<ResourceName>().unwrap(), name);
            }
        }
    }
}
