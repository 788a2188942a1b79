//! A queue with a bound, for work that waits for its turn.
//!
//! Why: work that is refused at once comes back at once, and work that waits without a bound takes memory for callers that have gone.

use tokio::sync::watch;

use crate::error::{EngineError, Result};

/// How many wait, and how many may.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: watch::Sender<u64>,
    limit: &'static str,
    waiting_max: u64,
    advice: &'static str,
}

impl Queue {
    /// A queue whose length is the limit of this name; `advice` goes with the refusal of one more.
    pub(crate) fn new(limit: &'static str, waiting_max: u64, advice: &'static str) -> Self {
        Self { waiting: watch::Sender::new(0), limit, waiting_max, advice }
    }

    /// A place in the queue; `Busy` if there is none.
    pub(crate) fn place(&self) -> Result<Place<'_>> {
        let entered = self.waiting.send_if_modified(|waiting| {
            let is_free = *waiting < self.waiting_max;
            *waiting += u64::from(is_free);
            is_free
        });
        match entered {
            true => Ok(Place(self)),
            false => Err(EngineError::Busy {
                limit: self.limit,
                value: self.waiting_max,
                asked: self.waiting_max.saturating_add(1),
                advice: self.advice,
            }),
        }
    }

    /// Resolves when somebody waits.
    pub(crate) async fn somebody_waits(&self) {
        self.until(|waiting| waiting > 0).await;
    }

    /// Resolves when nobody waits.
    pub(crate) async fn nobody_waits(&self) {
        self.until(|waiting| waiting == 0).await;
    }

    async fn until(&self, is_so: impl Fn(u64) -> bool) {
        // The sender lives as long as the queue, so that this ends with a change and not with an error.
        drop(self.waiting.subscribe().wait_for(|waiting| is_so(*waiting)).await);
    }
}

/// A place in the queue, which is given up when it is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a>(&'a Queue);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.send_modify(|waiting| *waiting -= 1);
    }
}
