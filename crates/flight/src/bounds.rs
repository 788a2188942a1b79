//! How many bytes a message would take in memory, measured before they are taken.
//!
//! Compressed buffers announce their size, but the lz4 decoder may write more; dictionaries, views and run ends grow by any
//! factor when they are cast to plain columns. Both are measured first, so that a message of a few bytes cannot take the server's memory.

use std::io::Read;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, FixedSizeListArray, RecordBatch, StringViewArray, cast::downcast_array,
};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow_ipc::CompressionType;
use lz4_flex::frame::FrameDecoder;

/// Bytes in front of a compressed buffer: its length once decompressed.
const LENGTH_BYTES: usize = 8;
/// Bytes counted for a row of a column whatever it holds, since nulls take room too once they are cast.
const ROW_BYTES_MIN: u64 = 16;

/// What is wrong with the sizes in a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SizeFault {
    /// More than allowed: at least so many bytes.
    TooLarge(u64),
    /// A buffer that lies outside the message, or does not hold what it announces.
    Malformed(&'static str),
}

/// Checks that the buffers of a record batch message, decompressed, fit in `limit` bytes.
pub(crate) fn check_buffers(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer, limit: u64) -> Result<(), SizeFault> {
    let rows = u64::try_from(batch.length()).map_err(|_| SizeFault::Malformed("its row count is negative"))?;
    let mut total = rows.saturating_mul(ROW_BYTES_MIN);
    let codec = batch.compression().map(|compression| compression.codec());
    for buffer in batch.buffers().into_iter().flatten() {
        let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let bytes = range
            .and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?))
            .ok_or(SizeFault::Malformed("a buffer lies outside the message"))?;
        let allowed = limit.saturating_sub(total);
        total = total.saturating_add(match codec {
            None => bytes.len() as u64,
            Some(codec) => decompressed_bytes(codec, bytes, allowed)?,
        });
        if total > limit {
            return Err(SizeFault::TooLarge(total));
        }
    }
    if total > limit { Err(SizeFault::TooLarge(total)) } else { Ok(()) }
}

/// Bytes of one compressed buffer once it is decompressed. Reads through lz4 frames, which may hold more than they announce.
fn decompressed_bytes(codec: CompressionType, bytes: &[u8], allowed: u64) -> Result<u64, SizeFault> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let (length, compressed) =
        bytes.split_first_chunk::<LENGTH_BYTES>().ok_or(SizeFault::Malformed("a compressed buffer has no length"))?;
    let length = i64::from_le_bytes(*length);
    if length == -1 {
        return Ok(compressed.len() as u64);
    }
    let announced =
        u64::try_from(length).map_err(|_| SizeFault::Malformed("a compressed buffer has a negative length"))?;
    if announced <= allowed && codec == CompressionType::LZ4_FRAME {
        let mut reader = FrameDecoder::new(compressed).take(announced + 1);
        let found = std::io::copy(&mut reader, &mut std::io::sink())
            .map_err(|_| SizeFault::Malformed("a compressed buffer is not an lz4 frame"))?;
        if found != announced {
            return Err(SizeFault::Malformed("an lz4 buffer does not have the length that it announces"));
        }
    }
    Ok(announced)
}

/// Bytes that a batch takes at most once its dictionaries, views and run ends are plain columns.
pub(crate) fn plain_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(column_bytes).fold(0, u64::saturating_add)
}

fn column_bytes(array: &ArrayRef) -> u64 {
    let rows = (array.len() as u64).saturating_mul(ROW_BYTES_MIN);
    let content = match array.data_type() {
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            if dictionary.values().is_empty() {
                0
            } else {
                referenced_bytes(dictionary.values(), dictionary.normalized_keys())
            }
        }
        DataType::RunEndEncoded(_, _) => (array.len() as u64).saturating_mul(array.get_array_memory_size() as u64),
        DataType::Utf8View => {
            let views: StringViewArray = downcast_array(array);
            views.lengths().map(u64::from).fold(0, u64::saturating_add)
        }
        DataType::BinaryView => {
            let views: BinaryViewArray = downcast_array(array);
            views.lengths().map(u64::from).fold(0, u64::saturating_add)
        }
        DataType::List(_) => column_bytes(array.as_list::<i32>().values()),
        DataType::LargeList(_) => column_bytes(array.as_list::<i64>().values()),
        DataType::FixedSizeList(_, _) => {
            let list: &FixedSizeListArray = array.as_fixed_size_list();
            column_bytes(list.values())
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(column_bytes).fold(0, u64::saturating_add),
        // The buffers may all be slices of one message, so that their capacities would count it many times over.
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Timestamp(_, _)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_)
        | DataType::Interval(_)
        | DataType::Binary
        | DataType::FixedSizeBinary(_)
        | DataType::LargeBinary
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Union(_, _)
        | DataType::Decimal32(_, _)
        | DataType::Decimal64(_, _)
        | DataType::Decimal128(_, _)
        | DataType::Decimal256(_, _)
        | DataType::Map(_, _) => {
            array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_buffer_memory_size()) as u64
        }
    };
    rows.saturating_add(content)
}

/// Bytes of the values that `keys` name, each as often as it is named. Every key lies within the values.
fn referenced_bytes(values: &ArrayRef, keys: Vec<usize>) -> u64 {
    let length_of: Box<dyn Fn(usize) -> u64> = match values.data_type() {
        DataType::Utf8 => {
            let values = values.as_string::<i32>().clone();
            Box::new(move |key| u64::from(values.value_length(key).unsigned_abs()))
        }
        DataType::LargeUtf8 => {
            let values = values.as_string::<i64>().clone();
            Box::new(move |key| values.value_length(key).unsigned_abs())
        }
        DataType::Binary => {
            let values = values.as_binary::<i32>().clone();
            Box::new(move |key| u64::from(values.value_length(key).unsigned_abs()))
        }
        DataType::LargeBinary => {
            let values = values.as_binary::<i64>().clone();
            Box::new(move |key| values.value_length(key).unsigned_abs())
        }
        other => {
            let each = match other.primitive_width() {
                Some(width) => width as u64,
                // Nothing is known about one value of a nested dictionary but that it is not larger than all of them.
                None => values.get_array_memory_size() as u64,
            };
            Box::new(move |_| each)
        }
    };
    keys.into_iter().map(length_of).fold(0, u64::saturating_add)
}

#[cfg(test)]
#[path = "bounds/tests.rs"]
mod tests;
