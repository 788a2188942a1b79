//! The one error of the command line: what failed, with what its report needs.

use std::io;

use omnigraph_client::ClientError;
use omnigraph_types::{BranchName, Effect, GraphName, OperationId};
use thiserror::Error;

use crate::input::{InputError, Place};
use crate::output::OutputError;

/// Why a command did not do what it was asked for.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The command line is wrong in a way that its grammar cannot tell.
    #[error("{what}")]
    Usage {
        /// What is wrong and how it is written.
        what: String,
    },
    /// A file cannot be read as rows.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be read as rows, and an earlier attempt to load it may have been stored.
    #[error("{error}")]
    InputAfter {
        /// Why.
        error: InputError,
        /// The load.
        write: Box<Write>,
    },
    /// A read failed.
    #[error(transparent)]
    Read(#[from] ClientError),
    /// The rows of a type cannot be located, because its table is damaged.
    #[error("the table of {type_name} cannot be opened: {reason}")]
    DamagedTable {
        /// The graph.
        graph: GraphName,
        /// The type.
        type_name: String,
        /// Why.
        reason: String,
    },
    /// A query failed; its text shows where.
    #[error("{error}")]
    Query {
        /// Why.
        error: ClientError,
        /// The query's text.
        text: String,
        /// The parameters that were given.
        params: Vec<String>,
    },
    /// A schema was refused; its text shows where.
    #[error("{error}")]
    Schema {
        /// Why.
        error: ClientError,
        /// The schema's text.
        text: String,
        /// The operation.
        operation_id: OperationId,
    },
    /// A branch was not made or repaired, or a branch or a graph not deleted.
    #[error("{error}")]
    Change {
        /// Why.
        error: ClientError,
        /// What was asked for.
        change: Change,
        /// The operation.
        operation_id: OperationId,
    },
    /// A load failed.
    #[error("{}", .0.error)]
    Load(Box<FailedLoad>),
    /// Control-C while rows were sent.
    #[error("interrupted: the load was given up before its end")]
    Interrupted,
    /// Control-C while the server was committing.
    #[error("interrupted while the server was committing")]
    InterruptedCommit(Box<Write>),
    /// A result cannot be printed.
    #[error(transparent)]
    Output(OutputError),
    /// The reader of the standard output has closed it, as `| head` does.
    #[error("the standard output is closed")]
    OutputClosed,
    /// The server cannot run.
    #[error(transparent)]
    Serve(Box<omnigraph_server::ServeError>),
}

/// What was to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A branch was to be made.
    CreateBranch,
    /// A branch was to be deleted.
    DeleteBranch,
    /// A graph was to be deleted.
    DeleteGraph,
    /// A branch was to be repaired.
    Repair,
}

/// A load that the server refused, or that broke off.
#[derive(Debug)]
pub(crate) struct FailedLoad {
    /// Why.
    pub(crate) error: ClientError,
    /// What was written to.
    pub(crate) write: Write,
    /// Where the rows of the error came from, by 1-based row of the stream.
    pub(crate) places: Vec<(u64, Place)>,
}

/// A write whose outcome can be asked for.
#[derive(Debug, Clone)]
pub(crate) struct Write {
    /// The graph.
    pub(crate) graph: GraphName,
    /// The branch.
    pub(crate) branch: BranchName,
    /// The operation.
    pub(crate) operation_id: OperationId,
}

impl CliError {
    /// The failure of a load of which an earlier attempt may have had an effect: nothing is proven of the whole then.
    pub(crate) fn after(self, earlier: Effect, write: Write) -> Self {
        match self {
            error if earlier == Effect::None => error,
            Self::Input(error) => Self::InputAfter { error, write: Box::new(write) },
            Self::Interrupted => Self::InterruptedCommit(Box::new(write)),
            Self::Load(failed) => {
                let FailedLoad { error, write, places } = *failed;
                Self::Load(Box::new(FailedLoad { error: error.after(earlier), write, places }))
            }
            other => other,
        }
    }

    /// A wrong command line.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Usage { what: what.into() }
    }
}

impl From<omnigraph_server::ServeError> for CliError {
    fn from(error: omnigraph_server::ServeError) -> Self {
        Self::Serve(Box::new(error))
    }
}

impl From<OutputError> for CliError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Write(source) if source.kind() == io::ErrorKind::BrokenPipe => Self::OutputClosed,
            OutputError::Write(_) | OutputError::Type { .. } => Self::Output(error),
        }
    }
}
