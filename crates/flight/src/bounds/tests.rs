use std::sync::Arc;

use arrow::array::{DictionaryArray, Int32Array, Int64Array, NullArray, StringArray};
use arrow::datatypes::Int32Type;

use super::*;

fn batch(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter([("column", array)]).unwrap()
}

fn lz4(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn compressed(announced: i64, frame: &[u8]) -> Vec<u8> {
    [announced.to_le_bytes().as_slice(), frame].concat()
}

#[test]
fn honest_buffer_counts_as_what_it_announces() {
    let bytes = compressed(1000, &lz4(&[7; 1000]));
    assert_eq!(decompressed_bytes(CompressionType::LZ4_FRAME, &bytes, 4096), Ok(1000));
    assert_eq!(decompressed_bytes(CompressionType::ZSTD, &compressed(1000, b"..."), 4096), Ok(1000));
    assert_eq!(decompressed_bytes(CompressionType::LZ4_FRAME, &compressed(-1, b"raw"), 4096), Ok(3));
    assert_eq!(decompressed_bytes(CompressionType::LZ4_FRAME, &[], 4096), Ok(0));
}

#[test]
fn lz4_buffer_that_holds_more_than_it_announces_is_malformed() {
    let bytes = compressed(1000, &lz4(&[7; 1_000_000]));
    let outcome = decompressed_bytes(CompressionType::LZ4_FRAME, &bytes, 4096);
    assert!(matches!(outcome, Err(SizeFault::Malformed(_))), "{outcome:?}");
}

#[test]
fn buffer_that_announces_a_negative_length_or_none_is_malformed() {
    for bytes in [compressed(-2, b"x"), b"short".to_vec()] {
        let outcome = decompressed_bytes(CompressionType::ZSTD, &bytes, 4096);
        assert!(matches!(outcome, Err(SizeFault::Malformed(_))), "{outcome:?}");
    }
}

#[test]
fn dictionary_counts_as_the_column_that_it_makes() {
    let long = "x".repeat(10_000);
    let keys = Int32Array::from(vec![1; 1_000]);
    let values: ArrayRef = Arc::new(StringArray::from(vec!["", long.as_str()]));
    let repeated: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    assert!(plain_bytes(&batch(repeated)) >= 10_000_000);

    let keys = Int32Array::from(vec![None; 1_000]);
    let values: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let empty: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    assert!(plain_bytes(&batch(empty)) <= 20_000);
}

#[test]
fn view_column_counts_every_view() {
    let long = "x".repeat(10_000);
    let mut builder = arrow::array::StringViewBuilder::new();
    let block = builder.append_block(arrow::buffer::Buffer::from(long.as_bytes()));
    for _ in 0..1_000 {
        builder.try_append_view(block, 0, 10_000).unwrap();
    }
    assert!(plain_bytes(&batch(Arc::new(builder.finish()))) >= 10_000_000);
}

#[test]
fn plain_column_counts_as_itself_also_when_its_buffer_is_shared() {
    let numbers = Int64Array::from(vec![1; 100_000]);
    let slice: ArrayRef = Arc::new(numbers.slice(0, 10));
    assert_eq!(plain_bytes(&batch(slice)), 10 * ROW_BYTES_MIN + 80);
}

#[test]
fn rows_without_content_count_too() {
    assert!(plain_bytes(&batch(Arc::new(NullArray::new(1_000_000)))) >= 16_000_000);
}
