use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::decode::FlightRecordBatchStream;
use futures::{TryStreamExt, stream};
use omnigraph_wire::v1;
use prost::Message;

use super::{LoadMode, LoadOptions, LoadTarget, RowEncoder};
use crate::error::ClientError;

fn target() -> LoadTarget {
    LoadTarget { graph: "airline".parse().unwrap(), branch: "main".parse().unwrap(), type_name: "Airport".to_owned() }
}

fn batch(rows: i64) -> RecordBatch {
    let columns: [(&str, ArrayRef); 2] = [
        ("iata", Arc::new(StringArray::from_iter_values((0..rows).map(|row| row.to_string())))),
        ("gates", Arc::new(Int64Array::from_iter_values(0..rows))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn opening_message_carries_the_command_and_the_schema() {
    let options = LoadOptions::new(LoadMode::Merge);
    let encoder = RowEncoder::new(batch(0).schema(), &options).unwrap();
    let opening = encoder.opening(&target(), &options).unwrap();
    let any = prost_types::Any::decode(opening.flight_descriptor.unwrap().cmd).unwrap();
    let command = v1::LoadCommand::decode(any.value.as_slice()).unwrap();
    assert_eq!(any.type_url, "type.googleapis.com/omnigraph.v1.LoadCommand");
    assert_eq!((command.graph.as_str(), command.r#type.as_str()), ("airline", "Airport"));
    assert_eq!(command.mode(), v1::LoadMode::Merge);
    assert_eq!(command.operation_id, options.operation_id.to_string());
}

#[tokio::test]
async fn rows_of_all_batches_arrive_as_they_were_written() {
    let options = LoadOptions::new(LoadMode::Append);
    let encoder = RowEncoder::new(batch(0).schema(), &options).unwrap();
    let mut messages = vec![encoder.opening(&target(), &options).unwrap()];
    messages.extend(encoder.encode(batch(3)).unwrap());
    messages.extend(encoder.encode(batch(2)).unwrap());
    let received = FlightRecordBatchStream::new_from_flight_data(stream::iter(messages.into_iter().map(Ok)));
    let received: Vec<RecordBatch> = received.try_collect().await.unwrap();
    assert_eq!(received, [batch(3), batch(2)]);
}

#[test]
fn batch_with_other_columns_is_refused() {
    let encoder = RowEncoder::new(batch(0).schema(), &LoadOptions::new(LoadMode::Append)).unwrap();
    let other = batch(1).project(&[0]).unwrap();
    assert!(matches!(encoder.encode(other), Err(ClientError::Arrow { what: "encode rows", .. })));
}
