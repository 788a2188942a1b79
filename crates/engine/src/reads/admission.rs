//! Which reads run at once: by number and by the memory that they may hold.

use std::sync::Arc;

use omnigraph_types::Limits;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{EngineError, Result};
use crate::queue::Queue;

/// Memory is counted in units of this size.
const UNIT_BYTES: u64 = 1024 * 1024;

/// The permits of reads, and the queue for them.
#[derive(Debug)]
pub(crate) struct Admission {
    slots: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    memory_bytes_max: u64,
    queue: Queue,
}

/// A place among the reads that run, with its share of their memory.
#[derive(Debug)]
pub(crate) struct Permit {
    _slot: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Self {
        let semaphore = |permits: u64| {
            Arc::new(Semaphore::new(usize::try_from(permits).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)))
        };
        Self {
            slots: semaphore(limits.queries_concurrent_max),
            memory: semaphore(u64::from(units(limits.queries_memory_bytes_max))),
            memory_bytes_max: limits.queries_memory_bytes_max,
            queue: Queue::new(
                "queries_queued_max",
                limits.queries_queued_max,
                "too many queries run and wait: wait for some to end, then resend",
            ),
        }
    }

    /// A permit, when it is this read's turn; `Busy` if too many wait, `Limit` if the read alone exceeds the memory of all.
    pub(crate) async fn admit(&self, memory_bytes: u64) -> Result<Permit> {
        let wanted = units(memory_bytes);
        if wanted > units(self.memory_bytes_max) {
            return Err(EngineError::Limit {
                limit: "queries_memory_bytes_max",
                value: self.memory_bytes_max,
                asked: memory_bytes,
                advice: "raise the limit, or lower query_memory_bytes_max",
            });
        }
        let free = self.slots.clone().try_acquire_owned().ok();
        let free = free.and_then(|slot| Some((slot, self.memory.clone().try_acquire_many_owned(wanted).ok()?)));
        if let Some((slot, memory)) = free {
            return Ok(Permit { _slot: slot, _memory: memory });
        }
        let _place = self.queue.place()?;
        let closed = |_| EngineError::Stopping;
        let slot = self.slots.clone().acquire_owned().await.map_err(closed)?;
        let memory = self.memory.clone().acquire_many_owned(wanted).await.map_err(closed)?;
        Ok(Permit { _slot: slot, _memory: memory })
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}
