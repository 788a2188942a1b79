//! Settings of a client.

use std::time::Duration;

use omnigraph_types::RootId;

use crate::deadline::Timeout;
use crate::retry::RetryPolicy;

/// Largest message that is sent or taken, as the server's own default.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a client.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// How long each call may take; a load has its own.
    pub timeout: Timeout,
    /// How often a failed call is sent again where its failure says that helps.
    pub retry: RetryPolicy,
    /// Largest message in bytes, in both directions.
    pub message_bytes_max: usize,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// The root that the server must have: another server is refused before anything else is asked of it. `None` takes any.
    pub expect_root: Option<RootId>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            timeout: Timeout::Server,
            retry: RetryPolicy::default(),
            message_bytes_max: MESSAGE_BYTES_MAX,
            connect_timeout: CONNECT_TIMEOUT,
            expect_root: None,
        }
    }
}
