//! Which server holds the ticket of a version at this moment, seen in the folder of the intents of `main`.
//!
//! The ticket for a version is its intent, put once and never deleted by a writer; it is held until that version is published. So if the intent
//! exists and, after its owner is paused, no publication does, the paused process owns the ticket.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use omnigraph_types::{BranchId, GraphId, OperationId};

use crate::record::Recorder;

/// How often the folder is read.
const LOOK_EVERY: Duration = Duration::from_micros(300);

/// The intents and versions of `main`.
#[derive(Debug)]
pub struct TicketWatch {
    intents: PathBuf,
    versions: PathBuf,
    next: u64,
}

/// A ticket that was just taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The version that it is for.
    pub version: u64,
    /// The server that took it.
    pub server: usize,
}

impl TicketWatch {
    /// Watches `main` of a graph below a root.
    pub fn new(root: &Path, graph: GraphId, main: BranchId) -> Self {
        let graph = root.join(graph.to_string());
        let (intents, versions) = (graph.join("__recovery").join(main.to_string()), graph.join("__manifest/_versions"));
        Self { intents, versions, next: 2 }
    }

    /// Waits for the next ticket that one known server takes.
    pub fn catch(&mut self, recorder: &Recorder, until: Instant) -> Option<Ticket> {
        while self.intent(self.next).exists() {
            self.next += 1;
        }
        while Instant::now() < until {
            if let Ok(bytes) = std::fs::read(self.intent(self.next)) {
                let version = self.next;
                self.next += 1;
                if let Some(server) = owner(&bytes, recorder) {
                    return Some(Ticket { version, server });
                }
                continue;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        None
    }

    /// Whether a version of `main` is published.
    pub fn is_published(&self, version: u64) -> bool {
        // Lance names the newest version so that it sorts first.
        self.versions.join(format!("{:020}.manifest", u64::MAX - version)).exists()
    }

    /// The version of an intent whose version is not published, if one is pending.
    pub fn pending(&mut self) -> Option<u64> {
        while self.intent(self.next).exists() {
            self.next += 1;
        }
        let last = self.next - 1;
        (self.intent(last).exists() && !self.is_published(last)).then_some(last)
    }

    fn intent(&self, version: u64) -> PathBuf {
        self.intents.join(format!("{version:020}.json"))
    }
}

/// The server that put an intent, if it is a load that only one server works on.
fn owner(intent: &[u8], recorder: &Recorder) -> Option<usize> {
    let intent: serde_json::Value = serde_json::from_slice(intent).ok()?;
    if intent["writer"] != "load" {
        return None;
    }
    let [operation] = intent["publication"]["operations"].as_array()?.as_slice() else { return None };
    let operation: OperationId = operation["operation_id"].as_str()?.parse().ok()?;
    recorder.server_of(operation)
}
