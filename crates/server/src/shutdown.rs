//! The request to stop, and its enforcement from outside the runtime that serves.
//!
//! Why a thread of its own: a runtime whose threads are all busy sees neither a signal nor a timer. This thread waits for the signal, passes it
//! on, and ends the process when `shutdown_timeout_ms` has passed and it still runs. The log may be what the others wait for, because whatever reads it
//! has stopped: so the last line of the log is written by another thread, and is not waited for long.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tracing::{error, warn};

/// Exit code of a server that still ran `shutdown_timeout_ms` after it was asked to stop, and was ended then.
pub const FORCED_STOP_CODE: i32 = 70;

/// Longest wait for the last line of the log.
const LAST_LINE_TIMEOUT: Duration = Duration::from_millis(500);

/// Resolves when the process receives SIGTERM, or SIGINT as Control-C sends it. From this call on neither ends the process by itself; the process
/// ends at the latest `timeout` after the first of them.
pub fn shutdown_signal(timeout: Duration) -> impl Future<Output = ()> {
    let (asked, stop) = oneshot::channel();
    let (ready, listens) = mpsc::channel();
    let watching = thread::Builder::new().name("omnigraph-stop".to_owned()).spawn(move || {
        if let Err(error) = watch(&ready, asked, timeout) {
            warn!(%error, "listen for a signal");
        }
    });
    match watching {
        // Fails only where the thread has ended with the warning above.
        Ok(_) => drop(listens.recv()),
        Err(error) => warn!(%error, "start the thread that listens for a signal"),
    }
    async move {
        if stop.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Waits for a signal, passes it on, and ends the process when `timeout` has passed.
fn watch(ready: &mpsc::Sender<()>, asked: oneshot::Sender<()>, timeout: Duration) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (mut terminate, mut interrupt): (Signal, Signal) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        // The starting thread waits, so it receives.
        let _ = ready.send(());
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        io::Result::Ok(())
    })?;
    // The server may have ended by itself meanwhile.
    let _ = asked.send(());
    thread::sleep(timeout);
    let (written, line) = mpsc::channel();
    let writing = thread::Builder::new().name("omnigraph-last-line".to_owned()).spawn(move || {
        error!(
            shutdown_timeout_ms = timeout.as_millis(),
            exit_code = FORCED_STOP_CODE,
            "the server did not stop in time and is ended"
        );
        // After the timeout no receiver is left.
        let _ = written.send(());
    });
    if writing.is_ok() {
        // Without the line in time the process is ended all the same.
        let _ = line.recv_timeout(LAST_LINE_TIMEOUT);
    }
    std::process::exit(FORCED_STOP_CODE)
}
