//! What every codec is: a message of the contract, and the value of the vocabulary that it holds.

use omnigraph_types::Failure;
use thiserror::Error;

/// A message of a request, and the value that it holds.
pub trait RequestCodec: Sized {
    /// The value. A request on a graph is a tuple that begins with the graph's name.
    type Value;

    /// Encodes the value.
    fn to_wire(value: Self::Value) -> Self;

    /// Decodes the message. `InvalidRequest` with the path of the field that is not what the contract says.
    fn from_wire(message: Self) -> Result<Self::Value, Failure>;
}

/// A message of an answer, and the value that it holds.
pub trait AnswerCodec: Sized {
    /// The value.
    type Value;

    /// Encodes the value.
    fn to_wire(value: Self::Value) -> Self;

    /// Decodes the message.
    fn from_wire(message: Self) -> Result<Self::Value, MalformedAnswer>;
}

/// An answer is not what the contract says: the program that sent it is not a server of this contract, or a newer one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the answer's {field} is missing or is not what the contract says")]
pub struct MalformedAnswer {
    /// The field, as `Message.field`.
    pub field: &'static str,
}
