//! What a client's bytes go through before the engine sees them, for programs that test it with hostile bytes.
//!
//! Nothing of the product calls this: `FlightService` does the same, message by message.

use arrow::array::RecordBatch;
use arrow_flight::{FlightData, FlightDescriptor};
use omnigraph_call::OwnHeaders;
use omnigraph_types::Failure;
use tonic::metadata::MetadataMap;

use crate::FlightFault;
use crate::decode::{Decoded, StreamDecoder};
use crate::ticket::{PutCommand, Read};

/// Decodes a stream's messages as a DoPut does whose server takes messages of at most `message_bytes_max`. Only the last batch is kept.
///
/// # Errors
/// The failure that ends the load.
pub fn decode_stream(messages: Vec<FlightData>, message_bytes_max: u64) -> Result<Option<RecordBatch>, Failure> {
    let mut decoder = StreamDecoder::new("Port", message_bytes_max);
    let mut last = None;
    for message in messages {
        // The batch before it was written, and is gone when the next message is decoded.
        drop(last.take());
        last = match decoder.decode(message).map_err(FlightFault::failure)? {
            Decoded::Batch(batch) => Some(batch),
            Decoded::Schema(_) | Decoded::Nothing => None,
        };
    }
    Ok(last)
}

/// Reads what a DoPut's first descriptor and call headers ask for, and returns it as text.
///
/// # Errors
/// The failure that answers the call.
pub fn put_command(descriptor: Option<FlightDescriptor>, headers: MetadataMap) -> Result<String, Failure> {
    let mut request = tonic::Request::from_parts(headers, tonic::Extensions::default(), ());
    PutCommand::parse(descriptor, OwnHeaders::take(&mut request)).map(|command| format!("{command:?}"))
}

/// Reads a DoGet's ticket, and returns what it names as text.
///
/// # Errors
/// The failure that answers the call.
pub fn ticket(bytes: &[u8]) -> Result<String, Failure> {
    Read::from_ticket_bytes(bytes).map(|read| format!("{read:?}"))
}

/// Reads the descriptor of a GetFlightInfo or GetSchema, and returns what it names as text.
///
/// # Errors
/// The failure that answers the call.
pub fn descriptor(descriptor: FlightDescriptor) -> Result<String, Failure> {
    Read::from_descriptor(descriptor).map(|read| format!("{read:?}"))
}
