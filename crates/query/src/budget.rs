//! The memory of one query: a fair pool that keeps the size of its last refused request for the error message.

use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use crate::control::ReadControl;

/// A pool of a fixed size, shared fairly between operators that can spill.
#[derive(Debug)]
pub(crate) struct Budget {
    pool: FairSpillPool,
    refused_bytes: AtomicU64,
    /// Every reservation keeps the pool, so the read's permit is held until the last of them is released.
    _control: ReadControl,
}

impl Budget {
    pub(crate) fn new(bytes_max: u64, control: ReadControl) -> Self {
        let size = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { pool: FairSpillPool::new(size), refused_bytes: AtomicU64::new(0), _control: control }
    }

    /// Bytes held plus bytes requested, at the last refusal.
    pub(crate) fn refused_bytes(&self) -> u64 {
        self.refused_bytes.load(Ordering::Relaxed)
    }
}

impl Display for Budget {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.pool.fmt(f)
    }
}

impl MemoryPool for Budget {
    fn name(&self) -> &str {
        "query budget"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.pool.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.pool.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.pool.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.pool.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.pool.try_grow(reservation, additional).inspect_err(|_| {
            let wanted = self.pool.reserved().saturating_add(additional);
            self.refused_bytes.store(u64::try_from(wanted).unwrap_or(u64::MAX), Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.pool.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.pool.memory_limit()
    }
}
