//! The graph of files, and its circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One file uses a name that another defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: String,
    pub(super) to: String,
    /// The name, as it is written in `from`.
    pub(super) name: String,
    /// Where it is written.
    pub(super) line: usize,
}

/// Files that all reach one another.
#[derive(Debug)]
pub(super) struct Circle {
    /// All of them, sorted.
    pub(super) files: Vec<String>,
    /// A shortest way from one of them back to it.
    pub(super) shortest: Vec<Step>,
}

/// Files and their arrows; of several arrows between two files the first is kept.
#[derive(Debug, Default)]
pub(super) struct Graph {
    arrows: BTreeMap<String, BTreeMap<String, Step>>,
}

impl Graph {
    /// Adds an arrow.
    pub(super) fn add(&mut self, step: Step) {
        self.arrows.entry(step.from.clone()).or_default().entry(step.to.clone()).or_insert(step);
    }

    /// All circles: each file is in at most one.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.arrows.keys().map(|file| (file.as_str(), self.reached_from(file))).collect();
        let mut circles = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (file, below) in &reached {
            if seen.contains(file) || !below.contains(file) {
                continue;
            }
            let files = below.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)));
            let files: Vec<&str> = files.copied().collect();
            seen.extend(&files);
            let ways = files.iter().filter_map(|start| self.way_back(start));
            let shortest = ways.min_by_key(Vec::len).unwrap_or_default();
            circles.push(Circle { files: files.into_iter().map(str::to_owned).collect(), shortest });
        }
        circles
    }

    fn steps(&self, file: &str) -> impl Iterator<Item = &Step> {
        self.arrows.get(file).into_iter().flat_map(BTreeMap::values)
    }

    fn reached_from(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Step> = self.steps(file).collect();
        while let Some(step) = open.pop() {
            if reached.insert(step.to.as_str()) {
                open.extend(self.steps(&step.to));
            }
        }
        reached
    }

    fn way_back(&self, start: &str) -> Option<Vec<Step>> {
        let mut came_by: BTreeMap<&str, &Step> = BTreeMap::new();
        let mut open: VecDeque<&Step> = self.steps(start).collect();
        while let Some(step) = open.pop_front() {
            if came_by.contains_key(step.to.as_str()) {
                continue;
            }
            came_by.insert(&step.to, step);
            if step.to != start {
                open.extend(self.steps(&step.to));
                continue;
            }
            let mut way = vec![step.clone()];
            while way[0].from != start {
                let before = came_by.get(way[0].from.as_str())?;
                way.insert(0, (*before).clone());
            }
            return Some(way);
        }
        None
    }
}
