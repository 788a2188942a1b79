//! Flight messages to record batches, one at a time, within a bound.
//!
//! Arrow-flight's own decoder copies the body once more than needed, decompresses without a bound, and reports every fault as an internal
//! error. This one hands the body's bytes to arrow-ipc as they are (which copies the buffers that are not aligned and no others), measures
//! before it decompresses, and says which row a broken batch follows.
//!
//! Invariant: no message makes the decoder hold more than `limit` bytes, dictionaries and all.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_flight::FlightData;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader};
use omnigraph_types::contain;

use crate::FlightFault;
use crate::bounds::{SizeFault, check_buffers, plain_bytes};

/// How many times `message_bytes_max` one message may take once it is decoded.
const DECODED_MESSAGES: u64 = 4;

/// What one message held.
#[derive(Debug)]
pub(crate) enum Decoded {
    /// The stream's schema.
    Schema(SchemaRef),
    /// Rows.
    Batch(RecordBatch),
    /// No rows: metadata, or a dictionary that was kept.
    Nothing,
}

/// The state of one stream.
#[derive(Debug)]
pub(crate) struct StreamDecoder {
    type_name: String,
    limit: u64,
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
    rows: u64,
}

impl StreamDecoder {
    /// A decoder for a stream of rows of a type, whose messages come in at most `message_bytes_max` bytes.
    pub(crate) fn new(type_name: &str, message_bytes_max: u64) -> Self {
        Self {
            type_name: type_name.to_owned(),
            limit: message_bytes_max.saturating_mul(DECODED_MESSAGES),
            schema: None,
            dictionaries: HashMap::new(),
            rows: 0,
        }
    }

    /// Rows decoded so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Decodes the next message.
    pub(crate) fn decode(&mut self, data: FlightData) -> Result<Decoded, FlightFault> {
        if data.data_header.is_empty() {
            return Ok(Decoded::Nothing);
        }
        let header = data.data_header;
        let message = arrow_ipc::root_as_message(&header).map_err(|error| self.undecodable(error.to_string()))?;
        let body = Buffer::from(data.data_body);
        match message.header_type() {
            MessageHeader::NONE => Ok(Decoded::Nothing),
            MessageHeader::Schema => self.decode_schema(message),
            MessageHeader::DictionaryBatch => self.decode_dictionary(message, &body),
            MessageHeader::RecordBatch => self.decode_batch(message, &body),
            other => {
                let name = other.variant_name().unwrap_or("of an unknown kind");
                Err(self.undecodable(format!("a message {name} has no place in a stream of rows")))
            }
        }
    }

    fn decode_schema(&mut self, message: Message<'_>) -> Result<Decoded, FlightFault> {
        if self.schema.is_some() {
            return Err(FlightFault::SecondSchema { type_name: self.type_name.clone(), rows: self.rows });
        }
        let ipc_schema = message.header_as_schema().ok_or_else(|| self.undecodable("a schema without content"))?;
        let schema = guarded(|| Ok::<Schema, ArrowError>(arrow_ipc::convert::fb_to_schema(ipc_schema)))
            .map_err(|reason| self.undecodable(reason))?;
        let schema = Arc::new(schema);
        self.schema = Some(Arc::clone(&schema));
        Ok(Decoded::Schema(schema))
    }

    fn decode_dictionary(&mut self, message: Message<'_>, body: &Buffer) -> Result<Decoded, FlightFault> {
        let schema = self.schema("a dictionary")?;
        let dictionary =
            message.header_as_dictionary_batch().ok_or_else(|| self.undecodable("a dictionary without content"))?;
        let values = dictionary.data().ok_or_else(|| self.undecodable("a dictionary without values"))?;
        self.check(check_buffers(&values, body, self.limit))?;
        let mut dictionaries = std::mem::take(&mut self.dictionaries);
        let version = message.version();
        let outcome = guarded(|| read_dictionary(body, dictionary, &schema, &mut dictionaries, &version));
        self.dictionaries = dictionaries;
        outcome.map_err(|reason| self.undecodable(reason))?;
        let held = self.dictionaries.values().map(|values| values.get_array_memory_size() as u64).sum::<u64>();
        self.check(if held > self.limit { Err(SizeFault::TooLarge(held)) } else { Ok(()) })?;
        Ok(Decoded::Nothing)
    }

    fn decode_batch(&mut self, message: Message<'_>, body: &Buffer) -> Result<Decoded, FlightFault> {
        let schema = self.schema("a batch")?;
        let ipc_batch = message.header_as_record_batch().ok_or_else(|| self.undecodable("a batch without content"))?;
        self.check(check_buffers(&ipc_batch, body, self.limit))?;
        let version = message.version();
        let batch = guarded(|| read_record_batch(body, ipc_batch, schema, &self.dictionaries, None, &version))
            .map_err(|reason| self.undecodable(reason))?;
        let plain = plain_bytes(&batch);
        self.check(if plain > self.limit { Err(SizeFault::TooLarge(plain)) } else { Ok(()) })?;
        self.rows += batch.num_rows() as u64;
        Ok(Decoded::Batch(batch))
    }

    fn schema(&self, found: &'static str) -> Result<SchemaRef, FlightFault> {
        let missing = || FlightFault::NoSchema { type_name: self.type_name.clone(), found };
        self.schema.clone().ok_or_else(missing)
    }

    fn check(&self, sizes: Result<(), SizeFault>) -> Result<(), FlightFault> {
        sizes.map_err(|fault| match fault {
            SizeFault::TooLarge(asked) => FlightFault::DecodedTooLarge { limit: self.limit, asked },
            SizeFault::Malformed(reason) => self.undecodable(reason),
        })
    }

    fn undecodable(&self, reason: impl Into<String>) -> FlightFault {
        FlightFault::Undecodable { type_name: self.type_name.clone(), rows: self.rows, reason: reason.into() }
    }
}

/// Runs arrow-ipc on bytes of a client. It asserts about them in places, and a client must not end a task by that.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    match contain(decode) {
        Ok(outcome) => outcome.map_err(|error| error.to_string()),
        Err(contained) => {
            tracing::debug!(%contained, "arrow-ipc gave up on a message");
            Err("the message contradicts itself".to_owned())
        }
    }
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
