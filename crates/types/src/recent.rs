//! A map of bounded size that keeps what was used last.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map that holds at most so many entries: a new one replaces the one that was used least recently.
///
/// Invariant: `entries` and `by_use` hold the same keys, and every use has a number of its own.
#[derive(Debug, Clone)]
pub struct Recent<K, V> {
    max: usize,
    uses: u64,
    entries: HashMap<K, (u64, V)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// An empty map of at most `max` entries, and at least one.
    pub fn at_most(max: usize) -> Self {
        Self { max: max.max(1), uses: 0, entries: HashMap::new(), by_use: BTreeMap::new() }
    }

    /// The value of a key, which counts as used now.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.by_use.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, key.clone());
        Some(value)
    }

    /// Sets the value of a key, which counts as used now.
    pub fn insert(&mut self, key: K, value: V) {
        self.insert_sparing(key, value, |_| false);
    }

    /// The same, but an entry that must be spared is not replaced. The map exceeds its size while all others must be spared.
    pub fn insert_sparing(&mut self, key: K, value: V, is_spared: impl Fn(&V) -> bool) {
        self.remove(&key);
        let is_replaceable = |key: &&K| self.entries.get(*key).is_some_and(|(_, value)| !is_spared(value));
        let excess = (self.entries.len() + 1).saturating_sub(self.max);
        let replaced: Vec<K> = self.by_use.values().filter(is_replaceable).take(excess).cloned().collect();
        for key in replaced {
            self.remove(&key);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, key.clone());
        self.entries.insert(key, (self.uses, value));
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.entries.remove(key)?;
        self.by_use.remove(&used);
        Some(value)
    }

    /// Removes every entry for which `keeps` is false.
    pub fn retain(&mut self, keeps: impl Fn(&K, &V) -> bool) {
        self.entries.retain(|key, (_, value)| keeps(key, value));
        self.by_use.retain(|_, key| self.entries.contains_key(key));
    }

    /// Whether there is an entry; this is no use of it.
    pub fn contains(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(recent: &Recent<u32, u32>) -> Vec<u32> {
        assert_eq!(recent.entries.len(), recent.by_use.len());
        recent.by_use.values().copied().collect()
    }

    #[test]
    fn entry_used_least_recently_is_replaced() {
        let mut recent = Recent::at_most(3);
        for key in 1..=3 {
            recent.insert(key, key * 10);
        }
        assert_eq!(recent.get(&1), Some(&mut 10));
        assert!(recent.contains(&2), "to ask is no use");
        recent.insert(4, 40);
        assert_eq!(keys(&recent), [3, 1, 4]);
        recent.insert(3, 31);
        recent.insert(5, 50);
        assert_eq!(keys(&recent), [4, 3, 5]);
        assert_eq!(recent.get(&3), Some(&mut 31));
        assert_eq!(recent.get(&1), None);
        assert_eq!(recent.remove(&4), Some(40));
        recent.retain(|key, _| *key != 5);
        assert_eq!(keys(&recent), [3]);
    }

    #[test]
    fn spared_entry_is_not_replaced() {
        let mut recent = Recent::at_most(2);
        let is_odd = |value: &u32| value % 2 == 1;
        for key in [1, 2, 3] {
            recent.insert_sparing(key, key, is_odd);
        }
        assert_eq!(keys(&recent), [1, 3]);
        recent.insert_sparing(5, 5, is_odd);
        assert_eq!(keys(&recent), [1, 3, 5], "all others are spared");
        recent.insert(6, 6);
        assert_eq!(keys(&recent), [5, 6], "and it shrinks again");
    }
}
