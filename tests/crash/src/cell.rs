//! The cells of the matrix: writer x fail point x fault x tables x next writer, and which of them are impossible.
//!
//! Only a rule leaves a cell out, and each rule gives its reason: so the number of cells is the product less what the rules name.

use std::fmt;
use std::str::FromStr;

use omnigraph_commit::{FailPoint, Follows, WriterPoints};
use omnigraph_types::Phase;

use crate::cell_name::CellName;
use crate::points::{
    BRANCH_CREATE, BRANCH_DELETE, BRANCH_REMOVE, GRAPH_CREATE, GRAPH_DELETE, LOAD, RECOVER, SETTLE, points,
};

/// A dimension of the matrix: its values, each with its part of a cell's name.
macro_rules! dimension {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its part of a cell's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

dimension! {
    /// The writer that is stopped: a request, or a rescuer that settles what another process left.
    Writer {
        /// A load of new rows.
        LoadAppend = "load_append",
        /// A load that replaces a row and adds one.
        LoadMerge = "load_merge",
        /// A load that replaces all rows of its types.
        LoadOverwrite = "load_overwrite",
        /// A load of new rows into a branch that owns its trees.
        LoadOnBranch = "load_on_branch",
        /// The first load into a branch: on private trees.
        FirstWrite = "first_write",
        /// A new branch.
        BranchCreate = "branch_create",
        /// The removal of a branch.
        BranchDelete = "branch_delete",
        /// A new graph.
        GraphCreate = "graph_create",
        /// The removal of a graph that has a branch.
        GraphDelete = "graph_delete",
        /// A rescuer that undoes a load of which a part of the tables was changed, and fences its tables.
        RescueUndo = "rescue_undo",
        /// A rescuer that completes a load whose tables were all changed.
        RescueComplete = "rescue_complete",
        /// A rescuer that completes the registration of a branch.
        RescueCreate = "rescue_create",
        /// A rescuer that gives back the name of a branch whose chain has ended.
        RescueRemoval = "rescue_removal",
        /// A rescuer that ends the branches of a graph whose main chain has ended.
        RescueDeletion = "rescue_deletion",
    }
}

dimension! {
    /// What happens at the point.
    Fault {
        /// The process dies by SIGKILL.
        Kill = "kill",
        /// The store refuses.
        Error = "error",
        /// The store carries out the call or not, and its reply is lost.
        Lose = "lose",
        /// The put after the point fails with an unknown outcome, and reaches the store after the next writer has written.
        Late = "late",
        /// The same, and until then the store refuses the writer's other puts of that object as if it existed.
        Busy = "busy",
        /// The process dies by SIGKILL. Its clock was years behind.
        KillBehind = "kill_behind",
        /// The process dies by SIGKILL. Its clock was years ahead.
        KillAhead = "kill_ahead",
        /// The next sync fails, and those after it do not.
        SyncOnce = "sync_once",
        /// From the point on every sync of a folder fails.
        SyncNever = "sync_never",
        /// The writer is held, its client cancels the call, and the writer continues after the next one.
        Cancel = "cancel",
        /// The writer is held, its deadline passes and its caller is answered, and the writer continues after the next one.
        Deadline = "deadline",
    }
}

dimension! {
    /// How many tables a load changes.
    Tables {
        /// One table of nodes.
        One = "1_table",
        /// Two tables of nodes and the edges between them.
        Three = "3_tables",
    }
}

dimension! {
    /// The next writer.
    Next {
        /// The process that met the fault.
        Same = "same",
        /// A server that had been running all along.
        Running = "running",
        /// A server that is started after the fault.
        Fresh = "fresh",
    }
}

impl Fault {
    /// Whether the process dies at the point.
    pub(crate) fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::KillBehind | Self::KillAhead)
    }

    /// Whether the put that follows the point is held back.
    pub(crate) fn holds_put(self) -> bool {
        matches!(self, Self::Late | Self::Busy)
    }

    /// Whether the writer continues only after the next one has written.
    pub(crate) fn holds_writer(self) -> bool {
        matches!(self, Self::Cancel | Self::Deadline)
    }

    /// Whether the file system under the writer fails.
    pub(crate) fn fails_syncs(self) -> bool {
        matches!(self, Self::SyncOnce | Self::SyncNever)
    }
}

impl Writer {
    /// Whether a writer of this kind may meet the point.
    fn meets(self, point: FailPoint) -> bool {
        let of = |writers: &[WriterPoints]| writers.contains(&point.writer);
        match self {
            Self::LoadAppend | Self::LoadMerge | Self::LoadOverwrite | Self::LoadOnBranch | Self::FirstWrite => {
                of(&[LOAD])
            }
            Self::BranchCreate => of(&[BRANCH_CREATE]),
            Self::BranchDelete => of(&[BRANCH_DELETE, BRANCH_REMOVE]),
            Self::GraphCreate => of(&[GRAPH_CREATE]),
            Self::GraphDelete => of(&[GRAPH_DELETE]),
            Self::RescueUndo => of(&[RECOVER, SETTLE]),
            Self::RescueComplete | Self::RescueCreate => of(&[RECOVER]),
            Self::RescueRemoval => of(&[BRANCH_REMOVE]),
            Self::RescueDeletion => of(&[GRAPH_DELETE]) && point.phase == Phase::Reply,
        }
    }

    /// The points that a writer of this kind may meet.
    pub fn points(self) -> impl Iterator<Item = FailPoint> {
        points().into_iter().filter(move |point| self.meets(*point))
    }

    /// Whether the number of tables makes a difference to it.
    fn changes_tables(self) -> bool {
        match self {
            Self::LoadAppend
            | Self::LoadMerge
            | Self::LoadOverwrite
            | Self::LoadOnBranch
            | Self::FirstWrite
            | Self::RescueUndo
            | Self::RescueComplete => true,
            Self::BranchCreate
            | Self::BranchDelete
            | Self::GraphCreate
            | Self::GraphDelete
            | Self::RescueCreate
            | Self::RescueRemoval
            | Self::RescueDeletion => false,
        }
    }
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The writer that is stopped.
    pub writer: Writer,
    /// The point where it is stopped.
    pub point: FailPoint,
    /// How it is stopped.
    pub fault: Fault,
    /// How many tables it changes.
    pub tables: Tables,
    /// The writer that comes after it.
    pub next: Next,
}

/// A rule by which some cells are impossible.
#[derive(Debug, Clone, Copy)]
pub struct Impossible {
    /// Why, in a sentence.
    pub reason: &'static str,
    covers: fn(&Cell) -> bool,
}

/// Every reason for which a cell of the product is left out.
pub const IMPOSSIBLE: &[Impossible] = &[
    Impossible {
        reason: "a killed process no longer writes",
        covers: |cell| cell.fault.kills() && cell.next == Next::Same,
    },
    Impossible {
        reason: "no put that could be late follows the point directly",
        covers: |cell| cell.fault.holds_put() && cell.point.follows == Follows::Nothing,
    },
    Impossible {
        reason: "the next write of a process needs the object that its store refuses as long as the put is held",
        covers: |cell| cell.fault == Fault::Busy && cell.next == Next::Same,
    },
    Impossible {
        reason: "a process whose syncs fail for good writes nothing more",
        covers: |cell| cell.fault == Fault::SyncNever && cell.next == Next::Same,
    },
    Impossible {
        reason: "the clock of a server that was running and of one that is started is the same",
        covers: |cell| matches!(cell.fault, Fault::KillBehind | Fault::KillAhead) && cell.next == Next::Fresh,
    },
    Impossible {
        reason: "the writer changes no table of nodes or edges, so that the number of tables makes no second cell",
        covers: |cell| !cell.writer.changes_tables() && cell.tables == Tables::Three,
    },
    Impossible {
        reason: "the first write on a branch makes private trees, and has no effect on a tree that existed before",
        covers: |cell| cell.writer == Writer::FirstWrite && cell.point.phase == Phase::Apply,
    },
];

impl Cell {
    /// The rule by which it is impossible; `None` for a cell that is run.
    pub fn impossible(&self) -> Option<&'static Impossible> {
        IMPOSSIBLE.iter().find(|rule| (rule.covers)(self))
    }

    /// The product of all dimensions, impossible cells included.
    pub fn product() -> Vec<Cell> {
        let mut cells = Vec::new();
        for &writer in Writer::ALL {
            for point in writer.points() {
                for &fault in Fault::ALL {
                    for &tables in Tables::ALL {
                        cells.extend(Next::ALL.iter().map(|&next| Cell { writer, point, fault, tables, next }));
                    }
                }
            }
        }
        cells
    }

    /// The cells that are run.
    pub fn all() -> Vec<Cell> {
        Self::product().into_iter().filter(|cell| cell.impossible().is_none()).collect()
    }

    /// A few cells that together meet every writer, every point, every fault and every next writer.
    ///
    /// Each pair of writer and point is met once, by the cell whose fault, size and next writer were met least before.
    pub fn spread() -> Vec<Cell> {
        let all = Self::all();
        let mut chosen: Vec<Cell> = Vec::new();
        for &writer in Writer::ALL {
            for point in writer.points() {
                let here = all.iter().filter(|cell| cell.writer == writer && cell.point == point);
                let rarest = here.min_by_key(|cell| {
                    let met = |same: fn(&Cell, &Cell) -> bool| chosen.iter().filter(|other| same(cell, other)).count();
                    (met(|a, b| a.fault == b.fault), met(|a, b| a.tables == b.tables), met(|a, b| a.next == b.next))
                });
                chosen.extend(rarest.copied());
            }
        }
        chosen
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { writer, point, fault, tables, next } = self;
        write!(f, "{}/{point}/{}/{}/{}", writer.name(), fault.name(), tables.name(), next.name())
    }
}

impl FromStr for Cell {
    type Err = CellName;

    fn from_str(text: &str) -> Result<Self, CellName> {
        let found = Self::product().into_iter().find(|cell| cell.to_string() == text);
        match found.map(|cell| (cell, cell.impossible())) {
            Some((cell, None)) => Ok(cell),
            Some((_, Some(rule))) => Err(CellName::Impossible { name: text.to_owned(), reason: rule.reason }),
            None => Err(CellName::Unknown { name: text.to_owned(), example: Self::all()[0].to_string() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_point_is_met_by_some_writer_and_by_the_spread() {
        for cells in [Cell::all(), Cell::spread()] {
            let met: HashSet<FailPoint> = cells.iter().map(|cell| cell.point).collect();
            let unmet: Vec<_> = points().into_iter().filter(|point| !met.contains(point)).collect();
            assert!(unmet.is_empty(), "{unmet:?}");
            let values: HashSet<&str> = cells
                .iter()
                .flat_map(|cell| [cell.writer.name(), cell.fault.name(), cell.tables.name(), cell.next.name()])
                .collect();
            assert_eq!(
                values.len(),
                Writer::ALL.len() + Fault::ALL.len() + Tables::ALL.len() + Next::ALL.len(),
                "every value of every dimension"
            );
        }
    }

    #[test]
    fn every_rule_leaves_something_out_and_every_cell_is_found_by_its_name() {
        let product = Cell::product();
        for rule in IMPOSSIBLE {
            assert!(product.iter().any(|cell| (rule.covers)(cell)), "{}", rule.reason);
        }
        let left_out = product.iter().filter(|cell| cell.impossible().is_some()).count();
        assert_eq!(Cell::all().len(), product.len() - left_out);
        let last = Cell::all().pop().unwrap();
        assert_eq!(last.to_string().parse::<Cell>().unwrap(), last);
        assert!(matches!("load_append".parse::<Cell>(), Err(CellName::Unknown { .. })));
        let killed = "load_append/load.A.before/kill/1_table/same".parse::<Cell>();
        assert!(matches!(killed, Err(CellName::Impossible { .. })), "{killed:?}");
    }
}
