//! What a caller may set: for the whole client, and for one read.

use std::time::Duration;

use omnigraph_types::{BranchName, CommitId};
use omnigraph_wire::v1;
use tokio::time::Instant;

use crate::RetryPolicy;

/// Largest message that is sent or taken, as the server's own default.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call may take in all, retries included. The server is told, and gives up too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timeout {
    /// As long as the server allows.
    #[default]
    Server,
    /// At most so long.
    After(Duration),
}

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
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            timeout: Timeout::Server,
            retry: RetryPolicy::default(),
            message_bytes_max: MESSAGE_BYTES_MAX,
            connect_timeout: CONNECT_TIMEOUT,
        }
    }
}

/// Which state of a graph a read sees. It sees that one commit from its first row to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAt {
    /// The branch's head when the read begins.
    Branch(BranchName),
    /// One commit.
    Commit(CommitId),
    /// What the branch's head was at a moment.
    BranchAtTime {
        /// The branch.
        branch: BranchName,
        /// Milliseconds since 1970-01-01T00:00:00Z.
        time_ms: u64,
    },
}

impl ReadAt {
    pub(crate) fn to_wire(&self) -> v1::ReadPoint {
        use v1::read_point::Point;
        let point = match self {
            Self::Branch(branch) => Point::Branch(branch.to_string()),
            Self::Commit(commit) => Point::Commit(commit.to_string()),
            Self::BranchAtTime { branch, time_ms } => {
                let nanos = i32::try_from(time_ms % 1_000 * 1_000_000).unwrap_or_default();
                let seconds = i64::try_from(time_ms / 1_000).unwrap_or(i64::MAX);
                let time = prost_types::Timestamp { seconds, nanos };
                Point::BranchAtTime(v1::BranchAtTime { branch: branch.to_string(), time: Some(time) })
            }
        };
        v1::ReadPoint { point: Some(point) }
    }
}

/// When a call must be over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// The server decides.
    Server,
    /// At this moment.
    At(Instant),
}

impl Deadline {
    pub(crate) fn after(timeout: Timeout) -> Self {
        match timeout {
            Timeout::Server => Self::Server,
            // A moment beyond what the clock can tell is no bound.
            Timeout::After(duration) => Instant::now().checked_add(duration).map_or(Self::Server, Self::At),
        }
    }

    /// Time left; none where the server decides.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::Server => None,
            Self::At(at) => Some(at.saturating_duration_since(Instant::now())),
        }
    }

    /// Whether the moment has come.
    pub(crate) fn passed(self) -> Passed {
        match self.left() {
            Some(Duration::ZERO) => Passed::Yes,
            Some(_) | None => Passed::No,
        }
    }

    /// A request that tells the server how much time is left.
    pub(crate) fn request<M>(self, message: M) -> tonic::Request<M> {
        let mut request = tonic::Request::new(message);
        if let Some(left) = self.left() {
            request.set_timeout(left);
        }
        request
    }
}

/// Whether a deadline is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is.
    Yes,
    /// It is not.
    No,
}
