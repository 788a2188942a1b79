//! The trailers of a status beside its code and message, and their bound.

use tonic::Code;

/// The domain of every `ErrorInfo`.
pub const ERROR_DOMAIN: &str = "omnigraph";
/// Text trailer with the reason, for clients that show text trailers and no details.
pub const REASON_TRAILER: &str = "x-omnigraph-reason";
/// Text trailer with Arrow's own number of the kind of error: Arrow's C++ client, and so pyarrow, keeps details only if it is set.
pub(super) const ARROW_CODE_TRAILER: &str = "x-arrow-status";
/// Binary trailer with the message, which goes with `ARROW_CODE_TRAILER`.
pub(super) const ARROW_MESSAGE_TRAILER: &str = "x-arrow-status-message-bin";
/// All trailers of an error together, names and values before base64. C-core drops trailers of more than 16 KiB, Java of more than 8 KiB.
pub(super) const TRAILERS_BYTES_MAX: usize = 4096;

/// Arrow's number (its `StatusCode`) for a kind of error.
pub(super) fn arrow_code(code: Code) -> &'static str {
    match code {
        Code::Ok => "0",
        Code::NotFound => "2",
        Code::InvalidArgument => "4",
        Code::ResourceExhausted | Code::OutOfRange => "6",
        Code::Cancelled => "8",
        Code::Unknown => "9",
        Code::Unimplemented => "10",
        Code::AlreadyExists => "45",
        Code::Aborted
        | Code::DataLoss
        | Code::DeadlineExceeded
        | Code::FailedPrecondition
        | Code::Internal
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::Unavailable => "5",
    }
}
