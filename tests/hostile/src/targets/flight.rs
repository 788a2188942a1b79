//! Streams of Flight messages, decoded as a DoPut decodes them.
//!
//! An input is a row of messages, each with the lengths of its header (two bytes) and its body (three bytes) in front.

use std::sync::Arc;

use arrow::array::types::{Int8Type, Int32Type};
use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Int32Array,
    Int64Array, ListArray, NullArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray,
};
use arrow::datatypes::{DataType, Field};
use arrow_flight::FlightData;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use bytes::Bytes;
use omnigraph_flight::untrusted;
use rand::Rng;
use rand::rngs::StdRng;

use super::words::refusal;
use crate::mutate;
use crate::target::{MemoryBound, Target};

/// The longest message that this server takes.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;
/// Messages of one stream.
const MESSAGES_MAX: usize = 64;

/// Words of a reason that distinguish kinds of refusals.
const REASON_WORDS_MAX: usize = 8;

/// The decoding of Flight messages.
#[derive(Debug)]
pub struct Flight;

fn encode(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<FlightData> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let (generator, mut tracker) = (IpcDataGenerator::default(), DictionaryTracker::new(false));
    let schema = generator.schema_to_bytes_with_dictionary_tracker(&batch.schema(), &mut tracker, &options);
    let mut context = CompressionContext::default();
    let (dictionaries, batch) = generator.encode(batch, &mut tracker, &options, &mut context).unwrap();
    std::iter::once(schema).chain(dictionaries).chain([batch]).map(FlightData::from).collect()
}

/// A column of every kind that Arrow encodes in its own way.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let numbers = || Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef;
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let vectors = FixedSizeListArray::new(item, 2, Arc::new(Float32Array::from(vec![0.5; 6])), None);
    let fields = StructArray::from(vec![(Arc::new(Field::new("n", DataType::Int64, true)), numbers())]);
    let dictionary: DictionaryArray<Int8Type> = ["a", "b", "a"].into_iter().collect();
    let runs =
        RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 3]), &StringArray::from(vec!["x", "y"])).unwrap();
    vec![
        ("text", Arc::new(StringArray::from(vec![Some("OSL"), None, Some("HAM")]))),
        ("number", numbers()),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("nothing", Arc::new(NullArray::new(3))),
        ("view", Arc::new(StringViewArray::from(vec!["a", "a text that is longer than a view holds", "b"]))),
        ("list", Arc::new(list)),
        ("vectors", Arc::new(vectors)),
        ("fields", Arc::new(fields)),
        ("dictionary", Arc::new(dictionary)),
        ("runs", Arc::new(runs)),
        ("fixed", Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8; 4]; 3].iter()).unwrap())),
    ]
}

/// Valid streams of every kind of column, and in every compression.
pub fn hostile_streams() -> Vec<Vec<FlightData>> {
    let columns = columns();
    let mut batches: Vec<_> =
        columns.iter().map(|column| RecordBatch::try_from_iter([column.clone()]).unwrap()).collect();
    batches.push(RecordBatch::try_from_iter(columns).unwrap());
    let compressions = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    batches.iter().flat_map(|batch| compressions.map(|compression| encode(batch, compression))).collect()
}

fn pack(messages: &[FlightData]) -> Vec<u8> {
    let mut input = Vec::new();
    for message in messages {
        input.extend(&message.data_header.len().to_le_bytes()[..2]);
        input.extend(&message.data_body.len().to_le_bytes()[..3]);
        input.extend(&message.data_header);
        input.extend(&message.data_body);
    }
    input
}

/// Lengths beyond the end of the input are cut.
fn unpack(input: &[u8]) -> Vec<FlightData> {
    let (mut rest, mut messages) = (Bytes::copy_from_slice(input), Vec::new());
    while rest.len() >= 5 && messages.len() < MESSAGES_MAX {
        let lengths = rest.split_to(5);
        let header = usize::from(lengths[0]) | usize::from(lengths[1]) << 8;
        let body = usize::from(lengths[2]) | usize::from(lengths[3]) << 8 | usize::from(lengths[4]) << 16;
        let data_header = rest.split_to(header.min(rest.len()));
        // A body is aligned as it is when a message came over the wire by itself.
        let data_body = Bytes::copy_from_slice(&rest.split_to(body.min(rest.len())));
        messages.push(FlightData { data_header, data_body, ..FlightData::default() });
    }
    messages
}

impl Target for Flight {
    fn name(&self) -> &'static str {
        "flight"
    }

    fn bound(&self) -> MemoryBound {
        // What one message may hold once decoded, twice: compressed values, and the array that is built of them.
        MemoryBound { constant: 2 * 4 * MESSAGE_BYTES_MAX + 256 * 1024, factor: 16 }
    }

    fn examples(&self) -> Vec<Vec<u8>> {
        hostile_streams().iter().map(|stream| pack(stream)).collect()
    }

    fn mutate(&self, rng: &mut StdRng, input: &mut Vec<u8>, other: &[u8]) {
        // A header is a tree of offsets, which are checked first: most changes that move bytes get no further than that.
        match rng.random_range(0..40) {
            0 => mutate::bytes(rng, input, other),
            1 => {
                let (mut messages, others) = (unpack(input), unpack(other));
                let at = rng.random_range(0..=messages.len());
                match (rng.random_range(0..3), others.is_empty()) {
                    (0, false) => messages.insert(at, others[rng.random_range(0..others.len())].clone()),
                    (1, false) if at < messages.len() => {
                        messages[at].data_body = others[rng.random_range(0..others.len())].data_body.clone();
                    }
                    _ if at < messages.len() => messages.push(messages[at].clone()),
                    _ => drop(messages.pop()),
                }
                *input = pack(&messages);
            }
            2..=9 => mutate::in_place(rng, input),
            _ => {
                // In one message's header: it describes the layout of the batch's body.
                let mut messages = unpack(input);
                if messages.is_empty() {
                    return;
                }
                let at = rng.random_range(0..messages.len());
                let mut header = messages[at].data_header.to_vec();
                mutate::in_place(rng, &mut header);
                messages[at].data_header = header.into();
                *input = pack(&messages);
            }
        }
    }

    fn handle(&self, input: &[u8]) -> Result<String, String> {
        match untrusted::decode_stream(unpack(input), MESSAGE_BYTES_MAX) {
            Ok(None) => Ok("no rows".to_owned()),
            Ok(Some(batch)) => {
                let columns = batch.columns().len();
                // What a reader does first; an array that contradicts itself shows here.
                for column in batch.columns() {
                    column
                        .to_data()
                        .validate_full()
                        .map_err(|error| format!("a decoded column is not valid: {error}"))?;
                }
                Ok(format!("rows of {} columns", columns.min(12)))
            }
            Err(failure) => {
                let kind = refusal(&failure)?;
                // The reason of arrow-ipc shows how far a message was decoded; numbers and names in it come from the input.
                let reason = failure.message.split(": ").nth(1).unwrap_or_default();
                let words = reason.split(' ').filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()));
                Ok(format!("{kind} {}", words.take(REASON_WORDS_MAX).collect::<Vec<_>>().join(" ")))
            }
        }
    }
}
