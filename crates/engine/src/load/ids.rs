//! The id of every row: computed from the key, the client's, or fresh.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, StringArray, StringBuilder};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMillisecondType, UInt32Type, UInt64Type,
};
use omnigraph_lang::key::{KeyPart, spell_key};
use omnigraph_types::Clock;
use ulid::{ULID_LEN, Ulid};

use crate::error::{EngineError, Result, quote};
use crate::load::columns::{AbsentIds, Mapped};
use crate::load::findings::RowNumbers;
use crate::schema::{ID, TypePlan};

/// The ids of a batch.
pub(crate) struct Ids {
    /// One per row, none null.
    pub(crate) column: StringArray,
    /// Which of them others may know: those not minted here.
    pub(crate) known: Known,
}

/// Which ids of a batch are not minted here.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Known {
    /// All.
    All,
    /// None.
    None,
    /// Those of these rows.
    Some(Vec<usize>),
}

/// The ids of a batch without nulls in its key.
pub(crate) fn ids_of(plan: &TypePlan, mapped: &Mapped, rows: &RowNumbers, clock: &dyn Clock) -> Result<Ids> {
    // The column `id` is always there, all null where the client sent none.
    let row_count = mapped.columns[ID].len();
    let sent = mapped.sent_ids();
    if plan.is_keyed() {
        let column = spell(plan, &mapped.columns)?;
        if let Some(sent) = sent {
            must_equal(plan, (sent, mapped.absent_ids()), &column, rows)?;
        }
        return Ok(Ids { column, known: Known::All });
    }
    match sent {
        None => Ok(Ids { column: fresh(row_count, clock)?, known: Known::None }),
        Some(sent) if sent.null_count() == 0 => Ok(Ids { column: sent.clone(), known: Known::All }),
        Some(sent) if sent.null_count() == sent.len() => {
            Ok(Ids { column: fresh(row_count, clock)?, known: Known::None })
        }
        Some(sent) => {
            let minted = fresh(sent.null_count(), clock)?;
            let mut minted = minted.iter().flatten();
            let column = sent.iter().map(|id| id.or_else(|| minted.next())).collect();
            let known = (0..sent.len()).filter(|&row| sent.is_valid(row)).collect();
            Ok(Ids { column, known: Known::Some(known) })
        }
    }
}

fn must_equal(
    plan: &TypePlan,
    (sent, absent): (&StringArray, AbsentIds),
    computed: &StringArray,
    rows: &RowNumbers,
) -> Result<()> {
    if sent.null_count() == 0 && sent == computed {
        return Ok(());
    }
    let differs = |row: &usize| match sent.is_null(*row) {
        true => absent == AbsentIds::Refused,
        false => sent.value(*row) != computed.value(*row),
    };
    let Some(row) = (0..computed.len()).find(differs) else { return Ok(()) };
    let found = if sent.is_null(row) { "null".to_owned() } else { quote(sent.value(row)) };
    Err(EngineError::LoadInvalid {
        type_name: Some(plan.name().to_owned()),
        row: Some(rows.of(row)),
        column: Some("id".to_owned()),
        reason: format!(
            "{} row {}: id {found} is not {}, the id that the key ({}) spells: send that, or leave the id out",
            plan.name(),
            rows.of(row),
            quote(computed.value(row)),
            plan.column_names(&plan.key).join(", ")
        ),
    })
}

/// Ids spelled from the key. A key of one text is the id, and its column is shared.
fn spell(plan: &TypePlan, columns: &[ArrayRef]) -> Result<StringArray> {
    let members = plan.key.iter().map(|&column| KeyColumn::of(columns[column].as_ref())).collect::<Result<Vec<_>>>()?;
    if let [KeyColumn::Text(column)] = members.as_slice() {
        return Ok((*column).clone());
    }
    let rows = plan.key.first().map_or(0, |&column| columns[column].len());
    let mut out = StringBuilder::with_capacity(rows, rows * 16);
    let mut parts = Vec::with_capacity(members.len());
    for row in 0..rows {
        parts.clear();
        parts.extend(members.iter().map(|member| member.part(row)));
        let id = spell_key(&parts).map_err(|_| EngineError::Defect("a checked key cannot be spelled"))?;
        out.append_value(id);
    }
    Ok(out.finish())
}

/// One member's column.
enum KeyColumn<'a> {
    Text(&'a StringArray),
    Bool(&'a BooleanArray),
    I32(&'a PrimitiveArray<Int32Type>),
    I64(&'a PrimitiveArray<Int64Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F32(&'a PrimitiveArray<Float32Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Date(&'a PrimitiveArray<Date32Type>),
    DateTime(&'a PrimitiveArray<TimestampMillisecondType>),
}

impl<'a> KeyColumn<'a> {
    fn of(array: &'a dyn Array) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Int32 => Self::I32(array.as_primitive()),
            DataType::Int64 => Self::I64(array.as_primitive()),
            DataType::UInt32 => Self::U32(array.as_primitive()),
            DataType::UInt64 => Self::U64(array.as_primitive()),
            DataType::Float32 => Self::F32(array.as_primitive()),
            DataType::Float64 => Self::F64(array.as_primitive()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Self::DateTime(array.as_primitive()),
            _ => return Err(EngineError::Defect("a key member of a type without a spelling")),
        })
    }

    fn part(&self, row: usize) -> KeyPart<'a> {
        fn integer<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>, row: usize) -> i128 {
            array.value(row).into()
        }
        match self {
            Self::Text(array) => KeyPart::Text(array.value(row)),
            Self::Bool(array) => KeyPart::Bool(array.value(row)),
            Self::I32(array) => KeyPart::Integer(integer(array, row)),
            Self::I64(array) => KeyPart::Integer(integer(array, row)),
            Self::U32(array) => KeyPart::Integer(integer(array, row)),
            Self::U64(array) => KeyPart::Integer(integer(array, row)),
            Self::F32(array) => KeyPart::F32(array.value(row)),
            Self::F64(array) => KeyPart::F64(array.value(row)),
            Self::Date(array) => KeyPart::Date(array.value(row)),
            Self::DateTime(array) => KeyPart::DateTime(array.value(row)),
        }
    }
}

/// Fresh ULIDs in ascending order: one random start per batch, then one after the other.
fn fresh(rows: usize, clock: &dyn Clock) -> Result<StringArray> {
    let mut next = clock.mint();
    let mut bytes = Vec::with_capacity(rows * ULID_LEN);
    let mut text = [0; ULID_LEN];
    for _ in 0..rows {
        bytes.extend_from_slice(next.array_to_str(&mut text).as_bytes());
        // The random part is used up once in 2^80 batches; a new start is as good.
        next = next.increment().unwrap_or_else(|| Ulid::from_parts(next.timestamp_ms(), clock.mint().random()));
    }
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(ULID_LEN, rows));
    StringArray::try_new(offsets, Buffer::from(bytes), None)
        .map_err(|source| EngineError::Arrow { action: "mint ids", source })
}

/// The column as it goes into the table.
impl Ids {
    /// The column, shared.
    pub(crate) fn array(&self) -> ArrayRef {
        Arc::new(self.column.clone())
    }
}
