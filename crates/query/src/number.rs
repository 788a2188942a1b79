//! Exact comparison of numbers of different types inside DataFusion, which would round both sides to a common type.
//!
//! Integers are read as 128 bits and floats as doubles, both without loss, and then compared by value. Zeros are equal.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int8Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion::common::{Result, exec_datafusion_err, utils::take_function_args};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use omnigraph_lang::number::compare_integer_float;

/// Digits of the widest integer, 2^64-1.
pub(crate) const INTEGER_DIGITS: u8 = 20;
/// The type that holds every integer of the language.
pub(crate) const INTEGER_TYPE: DataType = DataType::Decimal128(INTEGER_DIGITS, 0);

/// -1, 0 or 1 as `left` is less than, equal to or greater than `right`; null if either is.
pub(crate) fn number_order(left: Expr, right: Expr) -> Expr {
    ScalarUDF::from(NumberOrder { signature: Signature::any(2, Volatility::Immutable) }).call(vec![left, right])
}

/// Whether the list of numbers holds the number; null if either is.
pub(crate) fn list_holds_number(list: Expr, item: Expr) -> Expr {
    ScalarUDF::from(ListHoldsNumber { signature: Signature::any(2, Volatility::Immutable) }).call(vec![list, item])
}

/// The float with both zeros made one, so that sorting and grouping see them as equal.
pub(crate) fn one_zero(float: Expr) -> Expr {
    ScalarUDF::from(OneZero { signature: Signature::any(1, Volatility::Immutable) }).call(vec![float])
}

/// A column of numbers, read without loss.
enum Numbers {
    Integers(PrimitiveArray<Decimal128Type>),
    Floats(PrimitiveArray<Float64Type>),
}

impl Numbers {
    fn read(array: &ArrayRef) -> Result<Self> {
        match array.data_type() {
            DataType::Float32 | DataType::Float64 => {
                Ok(Self::Floats(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone()))
            }
            ty if ty.is_integer() => {
                Ok(Self::Integers(cast(array, &INTEGER_TYPE)?.as_primitive::<Decimal128Type>().clone()))
            }
            other => Err(exec_datafusion_err!("{other} is not a number")),
        }
    }

    fn is_valid(&self, at: usize) -> bool {
        match self {
            Self::Integers(values) => values.is_valid(at),
            Self::Floats(values) => values.is_valid(at),
        }
    }

    /// The order of two values that are not null; stored floats are finite, so there always is one.
    fn compare(&self, at: usize, other: &Self, other_at: usize) -> Option<Ordering> {
        match (self, other) {
            (Self::Integers(a), Self::Integers(b)) => Some(a.value(at).cmp(&b.value(other_at))),
            (Self::Floats(a), Self::Floats(b)) => a.value(at).partial_cmp(&b.value(other_at)),
            (Self::Integers(a), Self::Floats(b)) => compare_integer_float(a.value(at), b.value(other_at)),
            (Self::Floats(a), Self::Integers(b)) => {
                compare_integer_float(b.value(other_at), a.value(at)).map(Ordering::reverse)
            }
        }
    }
}

/// An argument as an array of all rows, or of one value for all of them.
fn column(value: &ColumnarValue) -> Result<(ArrayRef, Step)> {
    Ok(match value {
        ColumnarValue::Array(array) => (Arc::clone(array), Step::EachRow),
        ColumnarValue::Scalar(scalar) => (scalar.to_array_of_size(1)?, Step::OneForAll),
    })
}

/// How an argument's position follows the row.
#[derive(Clone, Copy)]
enum Step {
    EachRow,
    OneForAll,
}

impl Step {
    fn at(self, row: usize) -> usize {
        match self {
            Self::EachRow => row,
            Self::OneForAll => 0,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NumberOrder {
    signature: Signature,
}

impl ScalarUDFImpl for NumberOrder {
    fn name(&self) -> &str {
        "number_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = take_function_args(self.name(), &args.args)?;
        let ((left, left_step), (right, right_step)) = (column(left)?, column(right)?);
        let (left, right) = (Numbers::read(&left)?, Numbers::read(&right)?);
        let rows = 0..args.number_rows;
        let order: Int8Array = rows
            .map(|row| {
                let (a, b) = (left_step.at(row), right_step.at(row));
                let order = (left.is_valid(a) && right.is_valid(b)).then(|| left.compare(a, &right, b)).flatten();
                order.map(|order| order as i8)
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(order)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ListHoldsNumber {
    signature: Signature,
}

impl ScalarUDFImpl for ListHoldsNumber {
    fn name(&self) -> &str {
        "list_holds_number"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [list, item] = take_function_args(self.name(), &args.args)?;
        let ((list, list_step), (item, item_step)) = (column(list)?, column(item)?);
        let list =
            list.as_list_opt::<i32>().ok_or_else(|| exec_datafusion_err!("{} is not a list", list.data_type()))?;
        let (members, item) = (Numbers::read(list.values())?, Numbers::read(&item)?);
        let offsets = list.value_offsets();
        let rows = 0..args.number_rows;
        let holds: BooleanArray = rows
            .map(|row| {
                let (l, i) = (list_step.at(row), item_step.at(row));
                (list.is_valid(l) && item.is_valid(i)).then(|| {
                    // Offsets of a list array are never negative.
                    let (from, to) = (offsets[l] as usize, offsets[l + 1] as usize);
                    (from..to).any(|at| members.is_valid(at) && members.compare(at, &item, i) == Some(Ordering::Equal))
                })
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(holds)))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneZero {
    signature: Signature,
}

impl ScalarUDFImpl for OneZero {
    fn name(&self) -> &str {
        "one_zero"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), &args.args)?;
        let array = value.to_array(args.number_rows)?;
        // Adding positive zero turns negative zero into positive zero and leaves every other number alone.
        let array: ArrayRef = match array.data_type() {
            DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|x| x + 0.0)),
            DataType::Float64 => Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| x + 0.0)),
            _ => array,
        };
        Ok(ColumnarValue::Array(array))
    }
}
