//! Sums and averages that fail instead of wrapping or turning infinite.
//!
//! DataFusion adds 64-bit integers with wrap-around. Here integers are added as decimals of 128 bits, which no table can fill, and brought
//! back to 64 bits by a checked step; floats are added as doubles and checked to be finite.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, utils::take_function_args};
use datafusion::functions_aggregate::expr_fn::{count, sum};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit, when,
};
use omnigraph_lang::schema::Scalar;

use crate::error::Overflowed;
use crate::number::INTEGER_TYPE;

/// 2^64, by which values are divided without loss but for those that are too small to matter beside an overflow.
const SCALE: f64 = 18_446_744_073_709_551_616.0;

/// The aggregate that a sum of this argument needs, to be finished by [`finish_sum`].
pub(crate) fn total(argument: Expr, scalar: Scalar) -> Expr {
    sum(cast(argument, if scalar.is_integer() { INTEGER_TYPE } else { DataType::Float64 }))
}

/// The number of values that an average divides by.
pub(crate) fn values(argument: Expr) -> Expr {
    count(argument)
}

/// A sum in its result type, from its total.
pub(crate) fn finish_sum(total: Expr, scalar: Scalar, column: &str) -> Expr {
    let result = match scalar {
        Scalar::I32 | Scalar::I64 => ResultType::I64,
        Scalar::U32 | Scalar::U64 => ResultType::U64,
        Scalar::String | Scalar::Bool | Scalar::F32 | Scalar::F64 | Scalar::Date | Scalar::DateTime => ResultType::F64,
    };
    checked(total, result, column)
}

/// The total of the values divided by [`SCALE`]: finite for as many floats as a table can hold. An average needs it where the total is not.
pub(crate) fn scaled_total(argument: Expr) -> Expr {
    sum(cast(argument, DataType::Float64) / lit(SCALE))
}

/// An average from its total, its scaled total and its number of values: null over none.
pub(crate) fn finish_avg(total: Expr, scaled_total: Expr, values: Expr, column: &str) -> Result<Expr> {
    let (total, values) = (cast(total, DataType::Float64), cast(values, DataType::Float64));
    // Overflow leaves an infinity, or NaN where infinities of both signs met; neither lies within the range.
    let finite = total.clone().between(lit(f64::MIN), lit(f64::MAX));
    let mean = when(finite, total / values.clone()).otherwise(scaled_total / values * lit(SCALE))?;
    Ok(checked(mean, ResultType::F64, column))
}

fn checked(value: Expr, result: ResultType, column: &str) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::from(Checked { result, column: column.to_owned(), signature }).call(vec![value])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ResultType {
    I64,
    U64,
    F64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    result: ResultType,
    column: String,
    signature: Signature,
}

impl Checked {
    fn overflow(&self) -> DataFusionError {
        let result = match self.result {
            ResultType::I64 => "I64",
            ResultType::U64 => "U64",
            ResultType::F64 => "F64",
        };
        DataFusionError::External(Box::new(Overflowed { column: self.column.clone(), result }))
    }

    fn integers(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let totals = array
            .as_primitive_opt::<Decimal128Type>()
            .ok_or_else(|| exec_datafusion_err!("{} is not a total of integers", array.data_type()))?;
        Ok(match self.result {
            ResultType::I64 => {
                let narrow = |total: Option<i128>| total.map(i64::try_from).transpose();
                let values = totals.iter().map(narrow).collect::<Result<Int64Array, _>>();
                Arc::new(values.map_err(|_| self.overflow())?)
            }
            ResultType::U64 | ResultType::F64 => {
                let narrow = |total: Option<i128>| total.map(u64::try_from).transpose();
                let values = totals.iter().map(narrow).collect::<Result<UInt64Array, _>>();
                Arc::new(values.map_err(|_| self.overflow())?)
            }
        })
    }

    fn floats(&self, array: ArrayRef) -> Result<ArrayRef> {
        let values = array
            .as_primitive_opt::<Float64Type>()
            .ok_or_else(|| exec_datafusion_err!("{} is not a total of floats", array.data_type()))?;
        match values.iter().flatten().all(f64::is_finite) {
            true => Ok(array),
            false => Err(self.overflow()),
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        "checked"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.result {
            ResultType::I64 => DataType::Int64,
            ResultType::U64 => DataType::UInt64,
            ResultType::F64 => DataType::Float64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), &args.args)?;
        let array = value.to_array(args.number_rows)?;
        let array = match self.result {
            ResultType::I64 | ResultType::U64 => self.integers(&array)?,
            ResultType::F64 => self.floats(array)?,
        };
        Ok(ColumnarValue::Array(array))
    }
}
