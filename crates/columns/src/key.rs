//! Ids spelled from keys: by column for rows, by value for a key that a query or a request names. Both spell with [`spell_key`].

use arrow::array::{ArrayRef, PrimitiveArray, StringArray, StringBuilder};
use arrow::datatypes::ArrowPrimitiveType;
use omnigraph_lang::key::{KeyError, KeyPart, spell_key};
use omnigraph_lang::value::Value;

use crate::ColumnsError;
use crate::views::ScalarColumn;

/// Bytes that a computed id is expected to have, for the first allocation.
const ID_BYTES: usize = 16;

/// The id that the values of a key spell, in the key's order.
pub fn key_of_values(values: &[&Value]) -> Result<String, KeyError> {
    let parts = values.iter().map(|value| KeyPart::try_from(*value)).collect::<Result<Vec<_>, _>>()?;
    Ok(spell_key(&parts)?.into_owned())
}

/// The ids that the rows of key columns spell, in the key's order. The column of a key of one text is the ids, and is shared.
pub fn key_of_columns(columns: &[&ArrayRef]) -> Result<StringArray, ColumnsError> {
    let members = columns.iter().map(|column| ScalarColumn::of(column.as_ref())).collect::<Result<Vec<_>, _>>()?;
    if members.iter().any(|member| member.array().null_count() > 0) {
        return Err(KeyError::Null.into());
    }
    if let [ScalarColumn::String(column)] = members.as_slice() {
        return Ok((*column).clone());
    }
    let rows = members.first().ok_or(KeyError::Empty)?.array().len();
    let mut ids = StringBuilder::with_capacity(rows, rows * ID_BYTES);
    let mut parts = Vec::with_capacity(members.len());
    for row in 0..rows {
        parts.clear();
        parts.extend(members.iter().map(|member| part(*member, row)));
        ids.append_value(spell_key(&parts)?);
    }
    Ok(ids.finish())
}

/// The value of a row that is not null, as a member of a key.
fn part(column: ScalarColumn<'_>, row: usize) -> KeyPart<'_> {
    fn integer<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>, row: usize) -> i128 {
        array.value(row).into()
    }
    match column {
        ScalarColumn::String(array) => KeyPart::Text(array.value(row)),
        ScalarColumn::Bool(array) => KeyPart::Bool(array.value(row)),
        ScalarColumn::I32(array) => KeyPart::Integer(integer(array, row)),
        ScalarColumn::I64(array) => KeyPart::Integer(integer(array, row)),
        ScalarColumn::U32(array) => KeyPart::Integer(integer(array, row)),
        ScalarColumn::U64(array) => KeyPart::Integer(integer(array, row)),
        ScalarColumn::F32(array) => KeyPart::F32(array.value(row)),
        ScalarColumn::F64(array) => KeyPart::F64(array.value(row)),
        ScalarColumn::Date(array) => KeyPart::Date(array.value(row)),
        ScalarColumn::DateTime(array) => KeyPart::DateTime(array.value(row)),
    }
}

#[cfg(test)]
mod tests;
