//! The threads that reads run on.

use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};

/// How much lower than the process's own the priority of reads is, as a nice value.
#[cfg(target_os = "linux")]
const NICE_STEP: i32 = 5;

/// A runtime that is dropped without waiting for what runs on it, also from one of its own threads.
#[derive(Debug)]
pub(crate) struct ReadThreads {
    /// Taken by `drop` alone.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl ReadThreads {
    /// As many threads as there are cores.
    pub(crate) fn start() -> io::Result<Self> {
        let threads = available_parallelism().map_or(1, usize::from);
        let mut builder = Builder::new_multi_thread();
        let runtime = builder
            .worker_threads(threads)
            .thread_name("omnigraph-read")
            .enable_all()
            .on_thread_start(yield_to_others)
            .build()?;
        let handle = runtime.handle().clone();
        Ok(Self { runtime: Some(runtime), handle })
    }

    /// Where reads are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for ReadThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of the current thread. Only Linux has a nice value per thread; elsewhere it would slow the whole process.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE_STEP) {
        tracing::debug!(%error, "a thread of reads keeps its priority");
    }
}
