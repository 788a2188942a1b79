//! The tree of commits: who descends from whom, answered in constant time.
//!
//! Every commit of a graph without merges has one parent, so a walk in depth numbers the tree, and a commit is an ancestor of those whose
//! numbers lie inside its own span.

use std::collections::{BTreeMap, HashMap};

use omnigraph_types::CommitId;

use crate::history::CommitFact;

#[derive(Debug, Clone, Copy)]
struct Place {
    first: usize,
    last: usize,
    depth: usize,
    children: usize,
}

/// The commits as a tree.
#[derive(Debug)]
pub struct Lineage {
    order: Vec<CommitId>,
    places: HashMap<CommitId, Place>,
    unrooted: Vec<CommitId>,
}

impl Lineage {
    /// Numbers the tree.
    pub fn new(commits: &BTreeMap<CommitId, CommitFact>) -> Self {
        let mut children: HashMap<CommitId, Vec<CommitId>> = HashMap::new();
        let mut open: Vec<(CommitId, usize)> = Vec::new();
        for fact in commits.values() {
            match fact.parent {
                Some(parent) => children.entry(parent).or_default().push(fact.id),
                None => open.push((fact.id, 0)),
            }
        }
        let mut lineage = Self { order: Vec::new(), places: HashMap::new(), unrooted: Vec::new() };
        while let Some((id, depth)) = open.pop() {
            let first = lineage.order.len();
            lineage.order.push(id);
            let below = children.get(&id).map(Vec::as_slice).unwrap_or_default();
            lineage.places.insert(id, Place { first, last: first, depth, children: below.len() });
            open.extend(below.iter().map(|child| (*child, depth + 1)));
        }
        // Descendants follow their ancestors, so the spans close from the back.
        for id in lineage.order.iter().rev() {
            let last = lineage.places[id].last;
            if let Some(place) = commits[id].parent.and_then(|parent| lineage.places.get_mut(&parent)) {
                place.last = place.last.max(last);
            }
        }
        lineage.unrooted = commits.keys().filter(|id| !lineage.places.contains_key(id)).copied().collect();
        lineage
    }

    /// The commits, parents before their children.
    pub fn order(&self) -> &[CommitId] {
        &self.order
    }

    /// Commits that no chain of parents leads from to a first commit.
    pub fn unrooted(&self) -> &[CommitId] {
        &self.unrooted
    }

    /// How many commits name this one as their parent.
    pub fn children(&self, commit: CommitId) -> usize {
        self.places.get(&commit).map_or(0, |place| place.children)
    }

    /// How many ancestors it has.
    pub fn depth(&self, commit: CommitId) -> usize {
        self.places.get(&commit).map_or(0, |place| place.depth)
    }

    /// Whether `later` is `earlier` or descends from it.
    pub fn reaches(&self, earlier: CommitId, later: CommitId) -> bool {
        match (self.places.get(&earlier), self.places.get(&later)) {
            (Some(earlier), Some(later)) => (earlier.first..=earlier.last).contains(&later.first),
            _ => false,
        }
    }
}
