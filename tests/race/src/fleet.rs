//! The servers of a run: started, paused, killed and started again.
//!
//! Invariant: at least one of them is running and not paused while clients call.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use omnigraph_e2e::server::Server;
use rand::Rng;
use rand::rngs::StdRng;

use crate::history::graph;
use crate::store::{RaceStore, Tickets};

/// Line in the log of a server that holds a writer.
const HELD: &str = "failpoint hit";
/// Places between an intent and its publication at which a writer may be held.
const HOLDING_POINTS: [&str; 3] = ["load.A.after", "load.B.after", "load.C.before"];
/// How often one process holds a writer.
const HOLDS_MAX: usize = 12;
/// Most writes between two holds at one place.
const HOLD_EVERY_MAX: u32 = 60;

/// Longer than a held writer takes to see that it is released.
const RELEASE_WAIT: Duration = Duration::from_millis(100);

/// Where a server is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Which server.
    pub server: usize,
    /// How often it was started.
    pub generation: u64,
    /// Its URL.
    pub url: String,
}

#[derive(Debug)]
struct Slot {
    address: Address,
    server: Option<Server>,
    log_read: u64,
}

/// The servers of a run.
#[derive(Debug)]
pub struct Fleet {
    store: RaceStore,
    logs: PathBuf,
    slots: Vec<Mutex<Slot>>,
    claimed: Mutex<BTreeSet<usize>>,
    /// How often each server was claimed.
    claims: Vec<AtomicU64>,
}

/// A server, as long as it is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calm {
    /// Which server.
    pub server: usize,
    claims: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The right to pause or kill a server; it goes back when dropped.
#[derive(Debug)]
pub struct Claim<'f> {
    fleet: &'f Fleet,
    server: usize,
}

impl Claim<'_> {
    /// Which server.
    pub fn server(&self) -> usize {
        self.server
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.fleet.claimed).remove(&self.server);
    }
}

impl Fleet {
    /// Starts so many servers on a store. Logs of servers that ended are kept in `logs`.
    ///
    /// # Panics
    ///
    /// If a server does not start.
    pub fn start(store: RaceStore, logs: PathBuf, servers: usize, random: &mut StdRng) -> Self {
        let slots = (0..servers).map(|server| {
            let address = Address { server, generation: 0, url: String::new() };
            Mutex::new(Slot { address, server: None, log_read: 0 })
        });
        let claims = (0..servers).map(|_| AtomicU64::new(0)).collect();
        let fleet = Self { slots: slots.collect(), store, logs, claimed: Mutex::default(), claims };
        for server in 0..servers {
            fleet.restart(server, random);
        }
        fleet
    }

    /// How many servers there are.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Where a server is called, or was before it was killed.
    pub fn address(&self, server: usize) -> Address {
        lock(&self.slots[server]).address.clone()
    }

    /// Whether a server is paused, killed, or about to be.
    pub fn is_claimed(&self, server: usize) -> bool {
        lock(&self.claimed).contains(&server)
    }

    /// A server that is neither paused nor killed, the first from `from` on; whoever measures it asks afterwards whether it was left alone.
    pub fn calm(&self, from: usize) -> Calm {
        let claimed = lock(&self.claimed);
        let servers = (0..self.size()).map(|step| (from + step) % self.size());
        let server = servers.into_iter().find(|server| !claimed.contains(server)).unwrap_or(from % self.size());
        Calm { server, claims: self.claims[server].load(Ordering::Relaxed) }
    }

    /// Whether a server was left alone ever since.
    pub fn is_calm(&self, calm: Calm) -> bool {
        let claimed = lock(&self.claimed);
        !claimed.contains(&calm.server) && self.claims[calm.server].load(Ordering::Relaxed) == calm.claims
    }

    /// The right to stop a server, unless it is taken or the last one that is left.
    pub fn claim(&self, server: usize) -> Option<Claim<'_>> {
        let mut claimed = lock(&self.claimed);
        let legal = claimed.len() + 1 < self.slots.len() && claimed.insert(server);
        if legal {
            self.claims[server].fetch_add(1, Ordering::Relaxed);
        }
        // Made only if it is given away: a claim that is dropped here would wait for the lock held here.
        legal.then(|| Claim { fleet: self, server })
    }

    /// Starts a server that is not running.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&self, server: usize, random: &mut StdRng) {
        let mut variables = self.store.environment.clone();
        variables.extend(self.hold_variables(server, random));
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let started = Server::start(&self.store.root, &variables);
        let mut slot = lock(&self.slots[server]);
        slot.address.generation += 1;
        slot.address.url.clone_from(&started.url);
        slot.server = Some(started);
        slot.log_read = 0;
    }

    /// Kills a server as a loss of power would.
    pub fn kill(&self, claim: &Claim<'_>) {
        let mut slot = lock(&self.slots[claim.server]);
        if let Some(server) = slot.server.take() {
            self.keep_log(&slot.address, &server);
            server.kill9();
        }
    }

    /// Stops a server where it is.
    pub fn pause(&self, claim: &Claim<'_>) {
        if let Some(server) = &lock(&self.slots[claim.server]).server {
            server.pause();
        }
    }

    /// Resumes a paused server.
    pub fn resume(&self, claim: &Claim<'_>) {
        // A writer held by a fail point continues with its process.
        let release = self.release_file(claim.server);
        if self.store.tickets == Tickets::FailPoints {
            std::fs::write(&release, b"").unwrap();
        }
        if let Some(server) = &lock(&self.slots[claim.server]).server {
            server.resume();
        }
    }

    /// Whether a server has logged since the last question that it holds a writer.
    pub fn holds(&self, server: usize) -> bool {
        let mut slot = lock(&self.slots[server]);
        let Some(running) = &slot.server else { return false };
        let mut file = std::fs::File::open(running.log_file()).unwrap();
        let mut text = String::new();
        file.seek(SeekFrom::Start(slot.log_read)).unwrap();
        // A chunk that ends within a character is completed by the next read.
        let read = file.read_to_string(&mut text).unwrap_or(0);
        slot.log_read += read as u64;
        text.contains(HELD)
    }

    /// Releases a writer that was held while no hand watched, and holds the next ones again.
    pub fn let_go(&self, claim: &Claim<'_>) {
        let release = self.release_file(claim.server);
        if self.holds(claim.server) {
            std::fs::write(&release, b"").unwrap();
            std::thread::sleep(RELEASE_WAIT);
        }
        if release.exists() {
            std::fs::remove_file(&release).unwrap();
        }
    }

    /// Stops all servers as an operator would, and returns those that did not end well.
    pub fn stop(self) -> Vec<String> {
        let mut found = Vec::new();
        for slot in &self.slots {
            let mut slot = lock(slot);
            if let Some(server) = slot.server.take() {
                if self.store.tickets == Tickets::FailPoints {
                    std::fs::write(self.release_file(slot.address.server), b"").unwrap();
                }
                let log = server.log_file().to_owned();
                let kept = self.log_name(&slot.address);
                // The file goes with the server; a second name keeps it.
                std::fs::hard_link(&log, &kept).or_else(|_| std::fs::copy(&log, &kept).map(|_| ())).unwrap();
                let status = server.stop();
                if !status.success() {
                    found.push(format!(
                        "server {} ended with {status}; its log is {}",
                        slot.address.server,
                        kept.display()
                    ));
                }
            }
        }
        found
    }

    fn keep_log(&self, address: &Address, server: &Server) {
        std::fs::copy(server.log_file(), self.log_name(address)).unwrap();
    }

    fn log_name(&self, address: &Address) -> PathBuf {
        self.logs.join(format!("server-{}-{}.log", address.server, address.generation))
    }

    fn release_file(&self, server: usize) -> PathBuf {
        self.logs.join(format!("release-{server}"))
    }

    /// Variables that hold writers now and then, where tickets cannot be seen in a folder.
    fn hold_variables(&self, server: usize, random: &mut StdRng) -> Vec<(String, String)> {
        if self.store.tickets != Tickets::FailPoints {
            return Vec::new();
        }
        let hold = |_| {
            let point = HOLDING_POINTS[random.random_range(0..HOLDING_POINTS.len())];
            format!("{}/{point}=pause@{}", graph(), random.random_range(1..HOLD_EVERY_MAX))
        };
        let points: Vec<String> = (0..HOLDS_MAX).map(hold).collect();
        let release = self.release_file(server).to_string_lossy().into_owned();
        vec![
            ("OMNIGRAPH_FAILPOINTS".to_owned(), points.join(",")),
            ("OMNIGRAPH_FAILPOINTS_RELEASE".to_owned(), release),
        ]
    }

    /// The store of the run.
    pub fn store(&self) -> &RaceStore {
        &self.store
    }

    /// Where logs of servers are kept.
    pub fn logs(&self) -> &Path {
        &self.logs
    }
}

/// Runs work that waits for processes, beside the calls of clients.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
