//! How long a call may take.

use std::time::Duration;

use tokio::time::Instant;

/// How long a call may take in all, retries included. The server receives it, and stops too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timeout {
    /// As long as the server allows.
    #[default]
    Server,
    /// At most so long.
    After(Duration),
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
            // A moment beyond the range of the clock is no bound.
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

    /// Whether the moment has passed.
    pub(crate) fn passed(self) -> Passed {
        match self.left() {
            Some(Duration::ZERO) => Passed::Yes,
            Some(_) | None => Passed::No,
        }
    }

    /// A request with the time that is left.
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
