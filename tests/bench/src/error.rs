//! The one error of the benches.

use std::io;
use std::path::PathBuf;

use arrow::error::ArrowError;
use arrow_flight::error::FlightError;
use omnigraph_storage::StorageError;
use omnigraph_types::{Failure, NameError};
use thiserror::Error;

/// Why a measurement failed.
#[derive(Debug, Error)]
pub(crate) enum BenchError {
    /// A program to measure does not exist.
    #[error("{} does not exist: run through `cargo xtask bench`, which builds it", path.display())]
    ProgramMissing { path: PathBuf },
    /// A server process ended or did not listen in time.
    #[error("{program} did not come up on {address}: {reason}; its output is in {}", log.display())]
    ServerDown { program: String, address: String, reason: String, log: PathBuf },
    /// The operating system refused something.
    #[error("{action}")]
    Io { action: &'static str, source: io::Error },
    /// A file of `/proc` does not hold what is read from it.
    #[error("{path} holds no {what}")]
    Proc { path: String, what: &'static str },
    /// A gRPC call failed.
    #[error("{action}")]
    Grpc { action: &'static str, source: Box<tonic::Status> },
    /// A connection failed.
    #[error("connect to {address}")]
    Connect { address: String, source: tonic::transport::Error },
    /// A Flight call failed.
    #[error("{action}")]
    Flight { action: &'static str, source: FlightError },
    /// Rows could not be made.
    #[error("make rows")]
    Arrow(#[from] ArrowError),
    /// The engine failed.
    #[error("{action}")]
    Engine { action: &'static str, source: Box<Failure> },
    /// The bare table failed.
    #[error("{action}")]
    Storage { action: &'static str, source: StorageError },
    /// A commit of the bare table lost its version to another writer.
    #[error("the bare table has another writer")]
    FloorOccupied,
    /// A name of the bench's own is not allowed.
    #[error("name a graph")]
    Name { source: NameError },
    /// An option has an invalid value.
    #[error("--{option} {value}: {rule}")]
    Option { option: &'static str, value: u64, rule: &'static str },
}

impl BenchError {
    pub(crate) fn name(source: NameError) -> Self {
        Self::Name { source }
    }

    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    pub(crate) fn engine(action: &'static str) -> impl FnOnce(Failure) -> Self {
        move |source| Self::Engine { action, source: Box::new(source) }
    }

    pub(crate) fn storage(action: &'static str) -> impl FnOnce(StorageError) -> Self {
        move |source| Self::Storage { action, source }
    }
}
