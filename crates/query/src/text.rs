//! Exact prefix and substring tests.
//!
//! DataFusion's own `starts_with` becomes a `LIKE` pattern on its way down, which an index may read without its escapes; this one stays
//! what it is.

use std::sync::Arc;

use arrow::array::{ArrayRef, Scalar};
use arrow::compute::kernels::comparison::{contains, starts_with};
use arrow::datatypes::DataType;
use datafusion::common::{Result, utils::take_function_args};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Whether `text` begins with `prefix`; null if either is.
pub(crate) fn text_starts_with(text: Expr, prefix: Expr) -> Expr {
    call(Test::Prefix, text, prefix)
}

/// Whether `text` holds `part`; null if either is.
pub(crate) fn text_contains(text: Expr, part: Expr) -> Expr {
    call(Test::Substring, text, part)
}

fn call(test: Test, text: Expr, part: Expr) -> Expr {
    let signature = Signature::exact(vec![DataType::Utf8, DataType::Utf8], Volatility::Immutable);
    ScalarUDF::from(TextTest { test, signature }).call(vec![text, part])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Test {
    Prefix,
    Substring,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TextTest {
    test: Test,
    signature: Signature,
}

impl ScalarUDFImpl for TextTest {
    fn name(&self) -> &str {
        match self.test {
            Test::Prefix => "text_starts_with",
            Test::Substring => "text_contains",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [text, part] = take_function_args(self.name(), &args.args)?;
        let text = text.to_array(args.number_rows)?;
        let answer = match part {
            ColumnarValue::Array(part) => self.run(&text, part)?,
            ColumnarValue::Scalar(part) => self.run(&text, &Scalar::new(part.to_array_of_size(1)?))?,
        };
        Ok(ColumnarValue::Array(answer))
    }
}

impl TextTest {
    fn run(&self, text: &ArrayRef, part: &dyn arrow::array::Datum) -> Result<ArrayRef> {
        let answer = match self.test {
            Test::Prefix => starts_with(text, part)?,
            Test::Substring => contains(text, part)?,
        };
        Ok(Arc::new(answer))
    }
}
