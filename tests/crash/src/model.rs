//! Rows of a branch as a value, and which rows a number of loads may leave.
//!
//! Pure. The oracle of the rows: the rows seen must be those that some order of whole loads leaves, with every load that must be applied and
//! none that must not be.

use std::collections::BTreeMap;
use std::fmt;

use omnigraph_client::LoadMode;

use crate::cell::Tables;

/// The schema of every graph of the matrix.
pub(crate) const SCHEMA: &str = "node P {\n  k: String @key\n  x: I64\n}\nnode Q {\n  k: String @key\n  x: I64\n}\n\
    edge Knows: P -> Q {\n  x: I64\n  @key(src, dst)\n}\n";
/// The key of the rows that exist from the start.
const SEED: &str = "seed";

/// A type of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Type {
    P,
    Q,
    Knows,
}

impl Type {
    /// The types that loads of this size change.
    pub(crate) fn of(tables: Tables) -> &'static [Type] {
        match tables {
            Tables::One => &[Self::P],
            Tables::Three => &[Self::P, Self::Q, Self::Knows],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::P => "P",
            Self::Q => "Q",
            Self::Knows => "Knows",
        }
    }

    /// The column that identifies a row, and the one that holds its number.
    pub(crate) fn columns(self) -> &'static [&'static str] {
        match self {
            Self::P | Self::Q => &["k", "x"],
            Self::Knows => &["src", "x"],
        }
    }

    fn line(self, key: &str, x: i64) -> String {
        match self {
            Self::P | Self::Q => {
                format!("{{\"type\":\"{}\",\"data\":{{\"k\":\"{key}\",\"x\":{x}}}}}\n", self.name())
            }
            Self::Knows => {
                format!("{{\"edge\":\"Knows\",\"from\":\"{key}\",\"to\":\"{key}\",\"data\":{{\"x\":{x}}}}}\n")
            }
        }
    }
}

/// The rows of a branch: the number of each. A row of a load has the same key in each type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows(pub(crate) BTreeMap<(Type, String), i64>);

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<String> = self.0.iter().map(|((kind, key), x)| format!("{} {key}={x}", kind.name())).collect();
        write!(f, "[{}]", rows.join(", "))
    }
}

/// One load: in each type, rows with these keys and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadOf {
    pub(crate) mode: LoadMode,
    pub(crate) tables: Tables,
    rows: Vec<(&'static str, i64)>,
}

impl LoadOf {
    /// The rows that exist from the start.
    pub(crate) fn seed(tables: Tables) -> Self {
        Self { mode: LoadMode::Append, tables, rows: vec![(SEED, 1)] }
    }

    /// One new row.
    pub(crate) fn append(key: &'static str, tables: Tables) -> Self {
        Self { mode: LoadMode::Append, tables, rows: vec![(key, 1)] }
    }

    /// The seed with another number, and one new row.
    pub(crate) fn merge(key: &'static str, tables: Tables) -> Self {
        Self { mode: LoadMode::Merge, tables, rows: vec![(SEED, 2), (key, 1)] }
    }

    /// One row instead of all.
    pub(crate) fn overwrite(key: &'static str, tables: Tables) -> Self {
        Self { mode: LoadMode::Overwrite, tables, rows: vec![(key, 1)] }
    }

    /// As text for the server, nodes before edges.
    pub(crate) fn text(&self) -> String {
        let kinds = Type::of(self.tables).iter();
        kinds.flat_map(|kind| self.rows.iter().map(|(key, x)| kind.line(key, *x))).collect()
    }

    /// These rows after the load.
    pub(crate) fn on(&self, rows: &Rows) -> Rows {
        let mut next = rows.clone();
        if self.mode == LoadMode::Overwrite {
            next.0.retain(|(kind, _), _| !Type::of(self.tables).contains(kind));
        }
        for kind in Type::of(self.tables) {
            next.0.extend(self.rows.iter().map(|(key, x)| ((*kind, (*key).to_owned()), *x)));
        }
        next
    }
}

/// What is known of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was applied.
    There,
    /// It was not applied.
    Absent,
    /// It may have been applied.
    Open,
}

/// A load and what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) load: LoadOf,
    pub(crate) fate: Fate,
}

/// The loads that were applied, if some order of whole loads from `start` leaves what is `seen`: the indexes of one such set.
pub(crate) fn explain(start: &Rows, loads: &[Known], seen: &Rows) -> Option<Vec<usize>> {
    let mut done = Vec::new();
    search(start, loads, seen, &mut done).then_some(done)
}

fn search(rows: &Rows, loads: &[Known], seen: &Rows, done: &mut Vec<usize>) -> bool {
    let missing = loads.iter().enumerate().any(|(at, known)| known.fate == Fate::There && !done.contains(&at));
    if !missing && rows == seen {
        return true;
    }
    for (at, known) in loads.iter().enumerate() {
        if known.fate == Fate::Absent || done.contains(&at) {
            continue;
        }
        done.push(at);
        if search(&known.load.on(rows), loads, seen, done) {
            return true;
        }
        done.pop();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(load: LoadOf, fate: Fate) -> Known {
        Known { load, fate }
    }

    fn seed() -> Rows {
        LoadOf::seed(Tables::Three).on(&Rows::default())
    }

    #[test]
    fn rows_of_whole_loads_in_any_order_are_explained() {
        let (plain, over) = (LoadOf::append("plain", Tables::Three), LoadOf::overwrite("mine", Tables::Three));
        let loads = [known(plain.clone(), Fate::There), known(over.clone(), Fate::Open)];
        assert_eq!(explain(&seed(), &loads, &plain.on(&seed())), Some(vec![0]));
        assert_eq!(explain(&seed(), &loads, &plain.on(&over.on(&seed()))), Some(vec![1, 0]));
        assert_eq!(explain(&seed(), &loads, &over.on(&plain.on(&seed()))), Some(vec![0, 1]));
    }

    #[test]
    fn half_a_load_a_lost_one_and_one_that_must_not_be_there_are_not_explained() {
        let merge = LoadOf::merge("mine", Tables::Three);
        let mut half = merge.on(&seed());
        half.0.remove(&(Type::Q, "mine".to_owned()));
        assert_eq!(explain(&seed(), &[known(merge.clone(), Fate::Open)], &half), None);
        assert_eq!(explain(&seed(), &[known(merge.clone(), Fate::There)], &seed()), None);
        assert_eq!(explain(&seed(), &[known(merge.clone(), Fate::Absent)], &merge.on(&seed())), None);
    }

    #[test]
    fn load_of_one_table_leaves_the_others() {
        let over = LoadOf::overwrite("mine", Tables::One).on(&seed());
        assert_eq!(over.0.len(), 3, "{over}");
        assert_eq!(over.0[&(Type::P, "mine".to_owned())], 1);
    }
}
