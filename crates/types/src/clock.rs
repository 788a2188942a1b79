//! Time through a trait, so that tests decide what time it is.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ulid::Ulid;

/// Where time and fresh ids come from.
pub trait Clock: Debug + Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z by the wall clock, which may jump.
    fn wall_ms(&self) -> u64;

    /// Time since an arbitrary fixed point; never goes back and counts the machine's suspension.
    fn monotonic(&self) -> Duration;

    /// A fresh ULID of this moment.
    fn mint(&self) -> Ulid {
        let random = Ulid::new().random();
        Ulid::from_parts(self.wall_ms(), random)
    }
}

/// An instant by both clocks of a process.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    monotonic: Duration,
    wall_ms: u64,
}

impl Moment {
    /// This instant. Taken before whatever it dates, so that an age is never too small.
    pub fn now(clock: &dyn Clock) -> Self {
        Self { monotonic: clock.monotonic(), wall_ms: clock.wall_ms() }
    }

    /// The larger of what both clocks say has passed.
    pub fn age(&self, clock: &dyn Clock) -> Duration {
        let steady = clock.monotonic().saturating_sub(self.monotonic);
        steady.max(Duration::from_millis(clock.wall_ms().saturating_sub(self.wall_ms)))
    }
}

/// The machine's clocks: the wall clock, and Linux's `CLOCK_BOOTTIME`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn monotonic(&self) -> Duration {
        #[cfg(target_os = "linux")]
        let id = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let id = rustix::time::ClockId::Monotonic;
        let now = rustix::time::clock_gettime(id);
        Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
    }
}

/// A clock that moves only when a test advances it.
#[derive(Debug, Default)]
pub struct ManualClock {
    elapsed: Mutex<Duration>,
}

impl ManualClock {
    /// Moves both clocks forward.
    pub fn advance(&self, by: Duration) {
        *self.elapsed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += by;
    }
}

impl Clock for ManualClock {
    fn wall_ms(&self) -> u64 {
        1_700_000_000_000 + u64::try_from(self.monotonic().as_millis()).unwrap_or(u64::MAX / 2)
    }

    fn monotonic(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
