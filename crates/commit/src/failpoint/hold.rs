//! What holds a writer or a put back until a test releases it.

use std::io::Write;
use std::time::Duration;

/// How long a paused writer, or a late put, waits at most.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How often the file is asked for.
const PAUSE_POLL: Duration = Duration::from_millis(20);

/// Waits until the file exists that releases what is held.
pub(super) async fn released() {
    let release = std::env::var_os("OMNIGRAPH_FAILPOINTS_RELEASE");
    let started = tokio::time::Instant::now();
    let exists = || release.as_ref().is_some_and(|path| std::path::Path::new(path).exists());
    while started.elapsed() < PAUSE_MAX && !exists() {
        tokio::time::sleep(PAUSE_POLL).await;
    }
}

/// Writes a line to the log. Written at once and unbuffered: a killed process flushes nothing.
pub(super) fn say(line: &str) {
    let _ = std::io::stderr().write_all(line.as_bytes());
}
