//! Places where a test may kill, fail, or hold a writer. They exist in debug builds only.
//!
//! `OMNIGRAPH_FAILPOINTS=<graph>/<point>=<action>[@<hit>]`, several separated by commas. An action fires once per process, at the given hit
//! of its point (the first, if none is named): `kill` ends the process with SIGKILL, `error` fails as if the store had refused, `lose`
//! fails as if the reply had been lost, `pause` waits until the file named by `OMNIGRAPH_FAILPOINTS_RELEASE` exists, at most a minute, and
//! `late` lets the put behind the point fail with an unknown outcome and land when that file exists, or after a minute.

use std::fmt;

use omnigraph_types::{Failure, GraphName};
use thiserror::Error;

use crate::error::CommitError;

macro_rules! fail_points {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Every declared point, as `<writer>.<phase>.<before|after>`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FailPoint {
            $($(#[$doc])* $variant,)*
        }

        impl FailPoint {
            /// All points, in the order in which a write and its recovery meet them.
            pub const ALL: &'static [FailPoint] = &[$(FailPoint::$variant),*];

            /// The point's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

fail_points! {
    /// The intent is complete and not put.
    LoadArmBefore = "load.A.before",
    /// The intent is durable, no effect is made.
    LoadArmAfter = "load.A.after",
    /// One table's effect is about to be made.
    LoadApplyBefore = "load.B.before",
    /// One table's effect is made.
    LoadApplyAfter = "load.B.after",
    /// All effects are made, nothing is visible.
    LoadPublishBefore = "load.C.before",
    /// The publication is made.
    LoadPublishAfter = "load.C.after",
    /// The writer is about to tidy up and reply.
    LoadReplyBefore = "load.D.before",
    /// The reply is about to leave.
    LoadReplyAfter = "load.D.after",
    /// A rescuer has decided and not published.
    RecoverPublishBefore = "recover.C.before",
    /// A rescuer has published its decision.
    RecoverPublishAfter = "recover.C.after",
    /// One table's fence is about to be written.
    SettleApplyBefore = "settle.B.before",
    /// One table's fence is written.
    SettleApplyAfter = "settle.B.after",
    /// The intent of a settling publication is complete and not put.
    SettleArmBefore = "settle.A.before",
    /// The intent of a settling publication is durable.
    SettleArmAfter = "settle.A.after",
    /// The settling publication is about to be made.
    SettlePublishBefore = "settle.C.before",
    /// The settling publication is made.
    SettlePublishAfter = "settle.C.after",
    /// A branch's clone is made, and its intent not put.
    BranchCreateArmBefore = "branch_create.A.before",
    /// The intent of a branch's registration is durable.
    BranchCreateArmAfter = "branch_create.A.after",
    /// A branch's registration is about to be published.
    BranchCreatePublishBefore = "branch_create.C.before",
    /// A branch is registered.
    BranchCreatePublishAfter = "branch_create.C.after",
    /// The last version of a branch is about to be published.
    BranchRetirePublishBefore = "branch_delete.C.before",
    /// The last version of a branch is published, and its name still taken.
    BranchRetirePublishAfter = "branch_delete.C.after",
    /// The intent that gives a removed branch's name back is not put.
    BranchRemoveArmBefore = "branch_remove.A.before",
    /// That intent is durable.
    BranchRemoveArmAfter = "branch_remove.A.after",
    /// The name is about to be given back.
    BranchRemovePublishBefore = "branch_remove.C.before",
    /// The name is given back.
    BranchRemovePublishAfter = "branch_remove.C.after",
    /// A graph is about to be made. What decides is the entry of its name.
    GraphCreatePublishBefore = "graph_create.C.before",
    /// The graph is made, and its name means it.
    GraphCreatePublishAfter = "graph_create.C.after",
    /// The last version of a graph's main is about to be published.
    GraphDeletePublishBefore = "graph_delete.C.before",
    /// The graph is deleted; its branches and its name do not say so yet.
    GraphDeletePublishAfter = "graph_delete.C.after",
    /// A branch of a deleted graph is about to be ended.
    GraphDeleteBranchBefore = "graph_delete.D.before",
    /// A branch of a deleted graph is ended.
    GraphDeleteBranchAfter = "graph_delete.D.after",
}

impl FailPoint {
    /// What tells the put that comes right behind the point, by parts of its path; none where there is no put, or not always one.
    pub fn put_behind(self) -> Option<[&'static str; 2]> {
        match self {
            Self::LoadArmBefore | Self::SettleArmBefore | Self::BranchCreateArmBefore | Self::BranchRemoveArmBefore => {
                Some(["/__recovery/", ".json"])
            }
            Self::LoadApplyBefore | Self::SettleApplyBefore => Some(["/tables/", "/_versions/"]),
            Self::LoadPublishBefore
            | Self::RecoverPublishBefore
            | Self::SettlePublishBefore
            | Self::BranchCreatePublishBefore
            | Self::BranchRetirePublishBefore
            | Self::BranchRemovePublishBefore
            | Self::GraphDeletePublishBefore
            | Self::GraphDeleteBranchBefore => Some(["/__manifest/", "/_versions/"]),
            Self::GraphCreatePublishBefore => Some(["__graphs/", ".json"]),
            Self::LoadArmAfter
            | Self::LoadApplyAfter
            | Self::LoadPublishAfter
            | Self::LoadReplyBefore
            | Self::LoadReplyAfter
            | Self::RecoverPublishAfter
            | Self::SettleApplyAfter
            | Self::SettleArmAfter
            | Self::SettlePublishAfter
            | Self::BranchCreateArmAfter
            | Self::BranchCreatePublishAfter
            | Self::BranchRetirePublishAfter
            | Self::BranchRemoveArmAfter
            | Self::BranchRemovePublishAfter
            | Self::GraphCreatePublishAfter
            | Self::GraphDeletePublishAfter
            | Self::GraphDeleteBranchAfter => None,
        }
    }
}

impl fmt::Display for FailPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why `OMNIGRAPH_FAILPOINTS` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FailPointsError {
    /// The text is not a list of `<graph>/<point>=<action>[@<hit>]`.
    #[error(
        "OMNIGRAPH_FAILPOINTS: {entry:?} is not <graph>/<point>=kill|error|lose|pause|late[@<hit>], late only where a put follows; \
         points: {points}"
    )]
    Malformed {
        /// The entry.
        entry: String,
        /// The points there are.
        points: String,
    },
}

/// What a point did to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(debug_assertions), allow(dead_code, reason = "optimized builds have no points"))]
pub(crate) enum Injected {
    /// As if the store had refused: certainly not applied.
    Refused,
    /// As if the reply had been lost: applied or not.
    ReplyLost,
}

impl FailPoints {
    /// A point of a writer that is not this crate's.
    pub async fn pass(&self, graph: &GraphName, point: FailPoint) -> Result<(), Failure> {
        let hit = self.hit(graph.as_str(), point).await;
        hit.map_err(|injected| CommitError::FailPoint { point, injected }.into_failure())
    }
}

#[cfg(debug_assertions)]
pub use armed::FailPoints;
#[cfg(not(debug_assertions))]
pub use disarmed::FailPoints;

#[cfg(debug_assertions)]
mod late;

#[cfg(debug_assertions)]
mod armed {
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use omnigraph_storage::StoreHook;

    use super::late::LatePuts;
    use super::{FailPoint, FailPointsError, Injected};

    /// How long a paused writer, or a late put, waits at most.
    const PAUSE_MAX: Duration = Duration::from_secs(60);
    /// How often it looks.
    const PAUSE_POLL: Duration = Duration::from_millis(20);

    /// Waits until the file exists that releases what is held.
    pub(super) async fn released() {
        let release = std::env::var_os("OMNIGRAPH_FAILPOINTS_RELEASE");
        let started = tokio::time::Instant::now();
        let exists = || release.as_ref().is_some_and(|path| std::path::Path::new(path).exists());
        while started.elapsed() < PAUSE_MAX && !exists() {
            tokio::time::sleep(PAUSE_POLL).await;
        }
    }

    /// Tells whoever reads the log. Written at once and unbuffered: a killed process flushes nothing.
    pub(super) fn say(line: &str) {
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Action {
        Kill,
        Error,
        Lose,
        Pause,
        Late,
    }

    #[derive(Debug)]
    struct Entry {
        graph: String,
        point: FailPoint,
        action: Action,
        hits_left: u32,
    }

    /// The actions set for this process, shared by its graphs.
    #[derive(Debug, Clone, Default)]
    pub struct FailPoints {
        entries: Arc<Mutex<Vec<Entry>>>,
        late: Arc<LatePuts>,
    }

    impl FailPoints {
        /// Reads `OMNIGRAPH_FAILPOINTS`; unset means none.
        pub fn from_environment() -> Result<Self, FailPointsError> {
            match std::env::var("OMNIGRAPH_FAILPOINTS") {
                Ok(text) => Self::parse(&text),
                Err(_) => Ok(Self::default()),
            }
        }

        /// Reads a list of `<graph>/<point>=<action>[@<hit>]`.
        pub fn parse(text: &str) -> Result<Self, FailPointsError> {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            let entries: Vec<Entry> = entries
                .map(|entry| {
                    parse_entry(entry).ok_or_else(|| FailPointsError::Malformed {
                        entry: entry.to_owned(),
                        points: FailPoint::ALL.iter().map(|point| point.name()).collect::<Vec<_>>().join(" "),
                    })
                })
                .collect::<Result<_, _>>()?;
            Ok(Self { entries: Arc::new(Mutex::new(entries)), late: Arc::default() })
        }

        /// What the store must be opened with for the actions to be carried out.
        pub fn hooks(&self) -> Vec<Arc<dyn StoreHook>> {
            let entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match entries.iter().any(|entry| entry.action == Action::Late) {
                true => vec![self.late.clone()],
                false => Vec::new(),
            }
        }

        /// Whether every action has fired.
        pub fn is_spent(&self) -> bool {
            self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_empty()
        }

        fn take(&self, graph: &str, point: FailPoint) -> Option<Action> {
            let mut entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let at = entries.iter().position(|entry| entry.graph == graph && entry.point == point)?;
            entries[at].hits_left -= 1;
            (entries[at].hits_left == 0).then(|| entries.remove(at).action)
        }

        pub(crate) async fn hit(&self, graph: &str, point: FailPoint) -> Result<(), Injected> {
            let Some(action) = self.take(graph, point) else {
                return Ok(());
            };
            say(&format!("failpoint hit: {graph}/{point} {action:?}\n"));
            match action {
                Action::Kill => {
                    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
                    std::future::pending().await
                }
                Action::Error => Err(Injected::Refused),
                Action::Lose => Err(Injected::ReplyLost),
                Action::Pause => {
                    released().await;
                    Ok(())
                }
                Action::Late => {
                    self.late.arm(point);
                    Ok(())
                }
            }
        }
    }

    fn parse_entry(entry: &str) -> Option<Entry> {
        let (place, action) = entry.split_once('=')?;
        let (graph, point) = place.rsplit_once('/')?;
        let (action, hit) = action.split_once('@').unwrap_or((action, "1"));
        let action = match action {
            "kill" => Action::Kill,
            "error" => Action::Error,
            "lose" => Action::Lose,
            "pause" => Action::Pause,
            "late" => Action::Late,
            _ => return None,
        };
        let point = *FailPoint::ALL.iter().find(|known| known.name() == point)?;
        if action == Action::Late {
            point.put_behind()?;
        }
        let hits_left = hit.parse().ok().filter(|hit| *hit > 0)?;
        Some(Entry { graph: graph.to_owned(), point, action, hits_left })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[tokio::test]
        async fn action_fires_once_at_its_hit_and_only_for_its_graph() {
            let points = FailPoints::parse("g/load.A.after=error@2, g/load.C.before=lose").unwrap();
            assert_eq!(points.hit("other", FailPoint::LoadArmAfter).await, Ok(()));
            assert_eq!(points.hit("g", FailPoint::LoadArmAfter).await, Ok(()));
            assert_eq!(points.hit("g", FailPoint::LoadArmAfter).await, Err(Injected::Refused));
            assert_eq!(points.hit("g", FailPoint::LoadArmAfter).await, Ok(()));
            assert_eq!(points.hit("g", FailPoint::LoadPublishBefore).await, Err(Injected::ReplyLost));
        }

        #[test]
        fn malformed_entry_is_refused_with_the_points_there_are() {
            for text in [
                "g/load.A.after",
                "g/nope=kill",
                "load.A.after=kill",
                "g/load.A.after=burn",
                "g/load.A.after=kill@0",
                "g/load.A.after=late",
            ] {
                let error = FailPoints::parse(text).unwrap_err();
                assert!(error.to_string().contains("settle.C.after"), "{text}");
            }
        }
    }
}

#[cfg(not(debug_assertions))]
mod disarmed {
    use super::{FailPoint, FailPointsError, Injected};

    /// Nothing: an optimized build has no points.
    #[derive(Debug, Clone, Copy, Default)]
    pub struct FailPoints;

    impl FailPoints {
        /// Always none.
        pub fn from_environment() -> Result<Self, FailPointsError> {
            Ok(Self)
        }

        /// Always none.
        pub fn hooks(&self) -> Vec<std::sync::Arc<dyn omnigraph_storage::StoreHook>> {
            Vec::new()
        }

        pub(crate) async fn hit(&self, _graph: &str, _point: FailPoint) -> Result<(), Injected> {
            Ok(())
        }
    }
}
