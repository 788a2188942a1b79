//! Fail points that act, in debug builds.

use std::sync::{Arc, Mutex};

use omnigraph_storage::StoreHook;
use omnigraph_types::GraphName;

use crate::failpoint::hold::{released, say};
use crate::failpoint::late::{Beside, LatePuts};
use crate::failpoint::point::{FailPoint, FailPointsError, Follows, Injected};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Kill,
    Error,
    Lose,
    Pause,
    Late(Beside),
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
    /// Reads `OMNIGRAPH_FAILPOINTS`, in which the declared points may be named; unset means none.
    pub fn from_environment(declared: &[FailPoint]) -> Result<Self, FailPointsError> {
        match std::env::var("OMNIGRAPH_FAILPOINTS") {
            Ok(text) => Self::parse(&text, declared),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Reads a list of `<graph>/<point>=<action>[@<hit>]`, in which the declared points may be named.
    pub fn parse(text: &str, declared: &[FailPoint]) -> Result<Self, FailPointsError> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let entries: Vec<Entry> = entries
            .map(|entry| {
                parse_entry(entry, declared).ok_or_else(|| FailPointsError::Malformed {
                    entry: entry.to_owned(),
                    points: declared.iter().map(|point| point.name()).collect::<Vec<_>>().join(" "),
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { entries: Arc::new(Mutex::new(entries)), late: Arc::default() })
    }

    /// What the store must be opened with for the actions to be carried out.
    pub fn hooks(&self) -> Vec<Arc<dyn StoreHook>> {
        let entries = self.entries.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match entries.iter().any(|entry| matches!(entry.action, Action::Late(_))) {
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

    /// Passes a point: carries out the action that is set there, if one is.
    ///
    /// # Errors
    /// What the action does to the caller.
    pub async fn hit(&self, graph: &GraphName, point: FailPoint) -> Result<(), Injected> {
        let Some(action) = self.take(graph.as_str(), point) else {
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
            Action::Late(beside) => {
                self.late.arm(point, beside);
                Ok(())
            }
        }
    }
}

fn parse_entry(entry: &str, declared: &[FailPoint]) -> Option<Entry> {
    let (place, action) = entry.split_once('=')?;
    let (graph, point) = place.rsplit_once('/')?;
    let (action, hit) = action.split_once('@').unwrap_or((action, "1"));
    let action = match action {
        "kill" => Action::Kill,
        "error" => Action::Error,
        "lose" => Action::Lose,
        "pause" => Action::Pause,
        "late" => Action::Late(Beside::Proceed),
        "busy" => Action::Late(Beside::Conflict),
        _ => return None,
    };
    let point = *declared.iter().find(|known| known.name() == point)?;
    if matches!(action, Action::Late(_)) && point.follows == Follows::Nothing {
        return None;
    }
    let hits_left = hit.parse().ok().filter(|hit| *hit > 0)?;
    Some(Entry { graph: graph.to_owned(), point, action, hits_left })
}

#[cfg(test)]
mod tests {
    use omnigraph_types::Phase;

    use super::*;
    use crate::failpoint::point::WriterPoints;

    const LOAD: WriterPoints = WriterPoints::of("load");

    fn declared() -> Vec<FailPoint> {
        LOAD.points(&[Phase::Arm, Phase::Publish]).collect()
    }

    #[tokio::test]
    async fn action_fires_once_at_its_hit_and_only_for_its_graph() {
        let points = FailPoints::parse("g/load.A.after=error@2, g/load.C.before=lose", &declared()).unwrap();
        let (g, other): (GraphName, GraphName) = ("g".parse().unwrap(), "other".parse().unwrap());
        let armed = LOAD.after(Phase::Arm);
        assert_eq!(points.hit(&other, armed).await, Ok(()));
        assert_eq!(points.hit(&g, armed).await, Ok(()));
        assert_eq!(points.hit(&g, armed).await, Err(Injected::Refused));
        assert_eq!(points.hit(&g, armed).await, Ok(()));
        assert_eq!(points.hit(&g, LOAD.before(Phase::Publish)).await, Err(Injected::ReplyLost));
    }

    #[test]
    fn malformed_entry_is_refused_with_the_declared_points() {
        for text in [
            "g/load.A.after",
            "g/nope=kill",
            "load.A.after=kill",
            "g/load.A.after=burn",
            "g/load.A.after=kill@0",
            "g/load.A.after=late",
            "g/load.A.after=busy",
        ] {
            let error = FailPoints::parse(text, &declared()).unwrap_err();
            assert!(error.to_string().contains("load.C.after"), "{text}");
        }
    }
}
