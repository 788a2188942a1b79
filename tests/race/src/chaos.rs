//! Faults of the servers while clients call them: pauses longer than the grace, kills, restarts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::fleet::{Claim, Fleet};
use crate::history::Moment;
use crate::record::Recorder;
use crate::store::Tickets;
use crate::tickets::TicketWatch;

/// Length of a pause in milliseconds: always longer than the grace, which is 2 seconds.
const PAUSE_MS: std::ops::Range<u64> = 2_500..5_000;
/// How long a killed server stays away, in milliseconds.
const AWAY_MS: std::ops::Range<u64> = 0..1_500;
/// Quiet between two deeds, in milliseconds.
const QUIET_MS: std::ops::Range<u64> = 500..5_000;
/// Longest wait until a server takes a ticket.
const TICKET_WAIT: Duration = Duration::from_secs(2);
/// How long after it took its ticket a server is stopped: right away its write has made no effect yet, later some or all of them.
const TICKET_HELD_US: std::ops::Range<u64> = 0..25_000;
/// How often logs are searched for a held writer.
const LOG_EVERY: Duration = Duration::from_millis(10);
/// How often a sleeper checks whether the run is over.
const SLEEP_STEP: Duration = Duration::from_millis(50);

/// What was done.
#[derive(Debug, Default)]
pub struct Deeds {
    /// Servers killed.
    pub kills: AtomicU64,
    /// Of these, while they held a ticket.
    pub kills_with_ticket: AtomicU64,
    /// Servers paused.
    pub pauses: AtomicU64,
    /// Of these, while they held a ticket.
    pub pauses_with_ticket: AtomicU64,
    /// Each with its moment.
    pub log: Mutex<Vec<(Moment, String)>>,
}

impl Deeds {
    fn note(&self, recorder: &Recorder, text: String) {
        self.log.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((recorder.now(), text));
    }
}

/// What is to be done to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Pause,
    Kill,
}

/// One hand that stops servers, until `over`.
pub struct Chaos<'r> {
    /// The servers.
    pub fleet: &'r Fleet,
    /// Which server holds which operation.
    pub recorder: &'r Recorder,
    /// What was done.
    pub deeds: &'r Deeds,
    /// The tickets of `main`, where they can be seen; all hands share the one watch.
    pub watch: &'r Mutex<Option<TicketWatch>>,
    /// Whether the run is over.
    pub over: &'r AtomicBool,
}

impl Chaos<'_> {
    /// Stops servers until the run is over. All are running when it returns.
    pub fn run(&self, seed: u64) {
        let mut random = StdRng::seed_from_u64(seed);
        while !self.over.load(Ordering::Relaxed) {
            self.sleep(Duration::from_millis(random.random_range(QUIET_MS)));
            let deed = if random.random_range(0..100) < 65 { Deed::Pause } else { Deed::Kill };
            if random.random_range(0..100) < 75 {
                self.with_ticket(deed, &mut random);
            } else {
                let server = random.random_range(0..self.fleet.size());
                if let Some(claim) = self.fleet.claim(server) {
                    self.begin(deed, &claim);
                    self.end(deed, claim, server, &mut random);
                }
            }
        }
    }

    /// Stops a server that holds a ticket.
    fn with_ticket(&self, deed: Deed, random: &mut StdRng) {
        match self.fleet.store().tickets {
            Tickets::Folder(_) => self.at_intent(deed, random),
            Tickets::FailPoints => self.at_hold(deed, random),
        }
    }

    fn at_intent(&self, deed: Deed, random: &mut StdRng) {
        let mut watch = self.watch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(tickets) = watch.as_mut() else { return };
        let Some(ticket) = tickets.catch(self.recorder, Instant::now() + TICKET_WAIT) else { return };
        let Some(claim) = self.fleet.claim(ticket.server) else { return };
        std::thread::sleep(Duration::from_micros(random.random_range(TICKET_HELD_US)));
        self.begin(deed, &claim);
        let held = !tickets.is_published(ticket.version);
        drop(watch);
        if held {
            self.count_ticket(deed);
            self.deeds.note(self.recorder, format!("server {} held main's ticket {}", ticket.server, ticket.version));
        }
        self.end(deed, claim, ticket.server, random);
    }

    fn at_hold(&self, deed: Deed, random: &mut StdRng) {
        // A writer that has been held for long may have lost its ticket to a rescuer: only one seen at once counts.
        for claim in (0..self.fleet.size()).filter_map(|server| self.fleet.claim(server)) {
            self.fleet.let_go(&claim);
        }
        let until = Instant::now() + TICKET_WAIT;
        while Instant::now() < until && !self.over.load(Ordering::Relaxed) {
            for server in 0..self.fleet.size() {
                if self.fleet.holds(server) {
                    let Some(claim) = self.fleet.claim(server) else { continue };
                    self.begin(deed, &claim);
                    self.count_ticket(deed);
                    self.deeds.note(self.recorder, format!("server {server} held a ticket"));
                    self.end(deed, claim, server, random);
                    return;
                }
            }
            std::thread::sleep(LOG_EVERY);
        }
    }

    fn count_ticket(&self, deed: Deed) {
        let counter = match deed {
            Deed::Pause => &self.deeds.pauses_with_ticket,
            Deed::Kill => &self.deeds.kills_with_ticket,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn begin(&self, deed: Deed, claim: &Claim<'_>) {
        let counter = match deed {
            Deed::Pause => {
                self.fleet.pause(claim);
                &self.deeds.pauses
            }
            Deed::Kill => {
                self.fleet.kill(claim);
                &self.deeds.kills
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.deeds.note(self.recorder, format!("{deed:?} of server {}", claim.server()));
    }

    fn end(&self, deed: Deed, claim: Claim<'_>, server: usize, random: &mut StdRng) {
        match deed {
            Deed::Pause => {
                std::thread::sleep(Duration::from_millis(random.random_range(PAUSE_MS)));
                self.fleet.resume(&claim);
                self.deeds.note(self.recorder, format!("server {server} resumes"));
            }
            Deed::Kill => {
                self.sleep(Duration::from_millis(random.random_range(AWAY_MS)));
                self.fleet.restart(server, random);
                self.deeds.note(self.recorder, format!("server {server} is back"));
            }
        }
    }

    /// Sleeps, or wakes when the run is over.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(SLEEP_STEP.min(until.saturating_duration_since(Instant::now())));
        }
    }
}
