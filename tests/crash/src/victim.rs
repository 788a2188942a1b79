//! The server that meets the fault, the process that died before it, and what the system under it does.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use omnigraph_client::{Client, ClientError};
use omnigraph_e2e::faults::Faults;
use omnigraph_e2e::server::Server;
use omnigraph_types::{OperationId, Phase};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use ulid::Ulid;

use crate::cell::{Cell, Fault, Tables};
use crate::error::Violation;
use crate::limits::{CLOCK_SECONDS, HIT_MAX, LOG_POLL, SYNCS_MAX};
use crate::points::{Action, ArmedPoint};
use crate::stand::{broken, client};
use crate::world::{MintedBy, Operation, Reply, World};

/// Line in the log of a server that has examined every branch.
const EXAMINED: &str = "every branch is examined";
/// Line in the log of a server that holds a put back.
const HELD_BACK: &str = "failpoint holds back: ";

/// A server with the cell's fail point, and what is needed to go on with it.
pub(crate) struct Victim {
    pub(crate) server: Server,
    pub(crate) client: Client,
    /// The file that releases a writer held at the point.
    release: PathBuf,
    fault: Fault,
    /// What the system does to it.
    system: Option<Faults>,
    /// Another server with the same clock.
    twin: OnceCell<(Server, Client)>,
    _folder: tempfile::TempDir,
}

/// The variables of a server under which the system fails.
fn of_system(system: &Faults) -> impl Iterator<Item = (&'static str, String)> {
    system.variables().map(|(name, value)| (name, value.to_owned()))
}

impl Victim {
    pub(crate) fn release(&self) -> Result<(), Violation> {
        std::fs::write(&self.release, b"").map_err(broken("release a held writer"))
    }

    /// From now on syncs fail, as the cell's fault says.
    pub(crate) fn fail_syncs(&self) {
        let Some(system) = &self.system else { return };
        match self.fault {
            Fault::SyncNever => system.fail_syncs(SYNCS_MAX, "*/"),
            _ => system.fail_syncs(1, "*"),
        }
    }

    /// Syncs fail no more.
    pub(crate) fn mend_syncs(&self) {
        self.system.iter().for_each(Faults::mend_syncs);
    }

    /// A new id of an operation by its clock.
    pub(crate) fn mint(&self) -> (OperationId, MintedBy) {
        let seconds = match self.fault {
            Fault::KillBehind => -CLOCK_SECONDS,
            Fault::KillAhead => CLOCK_SECONDS,
            _ => return (Client::mint_operation_id(), MintedBy::Sound),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let now = u64::try_from(now).unwrap_or(u64::MAX).saturating_add_signed(seconds * 1_000);
        (OperationId(Ulid::from_parts(now, Ulid::new().random())), MintedBy::Victim)
    }

    /// A client of another server with the same clock, which is started when it is first asked for.
    pub(crate) async fn twin(&self, world: &World) -> Result<Client, Violation> {
        let started = self.twin.get_or_try_init(async || {
            let server = world.stand.start(self.system.iter().flat_map(of_system).collect()).await?;
            let client = client(&server).await?;
            Ok((server, client))
        });
        Ok(started.await?.1.clone())
    }
}

impl World {
    /// The server that meets the fault, after it has examined every branch.
    pub(crate) async fn victim(&self) -> Result<Victim, Violation> {
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let release = folder.path().join("release");
        let Cell { point, fault, tables, .. } = self.cell;
        let action = match fault {
            Fault::Kill | Fault::KillBehind | Fault::KillAhead => Action::Kill,
            Fault::Error => Action::Error,
            Fault::Lose => Action::Lose,
            Fault::Late => Action::Late,
            Fault::Busy => Action::Busy,
            Fault::Cancel | Fault::Deadline | Fault::SyncOnce | Fault::SyncNever => Action::Pause,
        };
        let system = match fault {
            Fault::KillBehind => Some(Faults::of(self.stand.root()).with_clock(-CLOCK_SECONDS)),
            Fault::KillAhead => Some(Faults::of(self.stand.root()).with_clock(CLOCK_SECONDS)),
            Fault::SyncOnce | Fault::SyncNever => Some(Faults::of(self.stand.root())),
            _ => None,
        };
        // The second of three tables meets the fault: one is before it, and one after.
        let hit = if tables == Tables::Three && point.phase == Phase::Apply { 2 } else { 1 };
        let points = [ArmedPoint { point, action, hit }];
        let mut variables = self.variables(&points, &release);
        variables.extend(system.iter().flat_map(of_system));
        let server = self.stand.start(variables).await?;
        server.logged(EXAMINED).await;
        let client = client(&server).await?;
        Ok(Victim { server, client, release, fault, system, twin: OnceCell::new(), _folder: folder })
    }

    /// For a rescuer: a process that dies and leaves an operation to settle.
    pub(crate) async fn died_before(&self) -> Result<Option<Operation>, Violation> {
        let Some(before) = &self.plan.before else { return Ok(None) };
        let folder = tempfile::tempdir().map_err(broken("make a folder"))?;
        let server = self.stand.start(self.variables(&before.points, &folder.path().join("release"))).await?;
        let id = Client::mint_operation_id();
        let reply = Reply::of(before.deed.send(&client(&server).await?, &self.graph, id).await);
        for ArmedPoint { point, .. } in &before.points {
            if !server.log().contains(&format!("failpoint hit: {}/{point} ", self.graph)) {
                return Err(Violation::NeverHit { point: *point, reply: format!("{reply:?}") });
            }
        }
        server.kill9();
        Ok(Some(Operation { deed: before.deed.clone(), id, reply, minted_by: MintedBy::Sound }))
    }

    /// Waits until the writer has met its fault, or is held at its point.
    pub(crate) async fn at_the_point(
        &self,
        victim: &Victim,
        request: &mut JoinHandle<Result<String, ClientError>>,
    ) -> Result<(), Violation> {
        let line = if self.cell.fault.holds_put() {
            // The point only chooses the put: it is the put that is late.
            HELD_BACK.to_owned()
        } else {
            format!("failpoint hit: {}/{} ", self.graph, self.cell.point)
        };
        let started = Instant::now();
        loop {
            let over = request.is_finished();
            if victim.server.log().contains(&line) {
                return Ok(());
            }
            if over || started.elapsed() > HIT_MAX {
                let reply = if over { format!("{:?}", request.await) } else { format!("nothing in {HIT_MAX:?}") };
                return Err(Violation::NeverHit { point: self.cell.point, reply });
            }
            tokio::time::sleep(LOG_POLL).await;
        }
    }

    /// The variables of a server that meets these points in the cell's graph.
    fn variables(&self, points: &[ArmedPoint], release: &Path) -> Vec<(&'static str, String)> {
        let points: Vec<String> = points.iter().map(|point| format!("{}/{point}", self.graph)).collect();
        vec![
            ("OMNIGRAPH_FAILPOINTS", points.join(",")),
            ("OMNIGRAPH_FAILPOINTS_RELEASE", release.to_string_lossy().into_owned()),
        ]
    }
}
