use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type};
use arrow_flight::SchemaAsIpc;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{CompressionContext, DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use bytes::Bytes;
use omnigraph_types::Problem;

use super::*;

const LIMIT: u64 = 1024 * 1024;

fn rows(count: i64) -> RecordBatch {
    let texts = StringArray::from_iter_values((0..count).map(|n| format!("text {}", n % 3)));
    let numbers = Int64Array::from_iter_values(0..count);
    let columns: [(&str, ArrayRef); 2] = [("text", Arc::new(texts)), ("number", Arc::new(numbers))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn encode(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<FlightData> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let (generator, mut tracker) = (IpcDataGenerator::default(), DictionaryTracker::new(false));
    let schema = generator.schema_to_bytes_with_dictionary_tracker(&batch.schema(), &mut tracker, &options);
    let mut context = CompressionContext::default();
    let (dictionaries, batch) = generator.encode(batch, &mut tracker, &options, &mut context).unwrap();
    std::iter::once(schema).chain(dictionaries).chain([batch]).map(FlightData::from).collect()
}

/// Decodes messages and joins the batches in them.
fn decode(messages: Vec<FlightData>, message_bytes_max: u64) -> Result<Vec<RecordBatch>, FlightFault> {
    let mut decoder = StreamDecoder::new("Port", message_bytes_max);
    let mut batches = Vec::new();
    for message in messages {
        if let Decoded::Batch(batch) = decoder.decode(message)? {
            batches.push(batch);
        }
    }
    Ok(batches)
}

#[test]
fn batch_comes_back_whatever_its_compression() {
    let batch = rows(5_000);
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        assert_eq!(
            decode(encode(&batch, compression), LIMIT).unwrap(),
            std::slice::from_ref(&batch),
            "{compression:?}"
        );
    }
}

#[test]
fn dictionary_column_comes_back_with_its_values() {
    let column: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("column", Arc::new(column) as ArrayRef)]).unwrap();
    assert_eq!(decode(encode(&batch, Some(CompressionType::ZSTD)), LIMIT).unwrap(), [batch]);
}

#[test]
fn body_at_any_alignment_is_decoded() {
    let batch = rows(100);
    for offset in 0..8 {
        let messages = encode(&batch, None).into_iter().map(|mut message| {
            let shifted = [vec![0; offset], message.data_body.to_vec()].concat();
            message.data_body = Bytes::from(shifted).slice(offset..);
            message
        });
        assert_eq!(decode(messages.collect(), LIMIT).unwrap(), std::slice::from_ref(&batch));
    }
}

#[test]
fn batch_too_large_once_decompressed_is_refused_before() {
    let batch = rows(200_000);
    let fault = decode(encode(&batch, Some(CompressionType::ZSTD)), LIMIT / 4).unwrap_err();
    assert!(matches!(fault, FlightFault::DecodedTooLarge { limit: LIMIT, .. }), "{fault:?}");
}

#[test]
fn dictionary_that_multiplies_its_values_is_refused() {
    let long = "x".repeat(100_000);
    let column: DictionaryArray<Int32Type> = std::iter::repeat_n(long.as_str(), 1_000).collect();
    let batch = RecordBatch::try_from_iter([("column", Arc::new(column) as ArrayRef)]).unwrap();
    let fault = decode(encode(&batch, None), LIMIT).unwrap_err();
    assert!(matches!(fault, FlightFault::DecodedTooLarge { .. }), "{fault:?}");
}

#[test]
fn batch_before_the_schema_and_second_schema_are_refused() {
    let messages = encode(&rows(3), None);
    let fault = decode(messages[1..].to_vec(), LIMIT).unwrap_err();
    assert!(matches!(fault, FlightFault::NoSchema { .. }), "{fault:?}");
    let fault = decode([&messages[..], &messages[..1]].concat(), LIMIT).unwrap_err();
    assert!(matches!(fault, FlightFault::SecondSchema { rows: 3, .. }), "{fault:?}");
}

#[test]
fn batch_cut_short_anywhere_is_an_error_at_its_row_and_no_panic() {
    let whole = encode(&rows(50), Some(CompressionType::LZ4_FRAME));
    for part in 0..16 {
        let mut messages = whole.clone();
        messages.push(messages[1].clone());
        let body = &mut messages[2].data_body;
        *body = body.slice(..body.len() * part / 16);
        let failure = decode(messages, LIMIT).unwrap_err().failure();
        let problem = Problem::LoadInvalid { type_name: Some("Port".into()), row: Some(51), column: None };
        assert_eq!(failure.problem, problem, "{part}/16: {failure}");
    }
}

#[test]
fn batch_of_another_schema_is_an_error_and_no_panic() {
    let options = IpcWriteOptions::default();
    for other in [DataType::Utf8View, DataType::Utf8, DataType::new_list(DataType::Int64, true)] {
        let schema = Schema::new(vec![Field::new("other", other, true)]);
        let mut messages = encode(&rows(50), None);
        messages[0] = SchemaAsIpc::new(&schema, &options).into();
        let outcome = decode(messages, LIMIT);
        // A text column reads as itself whatever follows it.
        assert!(outcome.is_err() || schema.field(0).data_type() == &DataType::Utf8, "{outcome:?}");
    }
}

#[test]
fn message_without_content_is_passed_over() {
    let mut messages = encode(&rows(3), None);
    messages.insert(0, FlightData::default());
    assert_eq!(decode(messages, LIMIT).unwrap().len(), 1);
}
