//! Exact comparison of numbers of different types: no value is rounded on the way.

use std::cmp::Ordering;

/// 2^127, the first float above every `i128`.
const I128_END: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;

/// An integer against a float, by exact value. `None` for NaN only.
pub fn compare_integer_float(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float >= I128_END {
        return Some(Ordering::Less);
    }
    if float < -I128_END {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    // Exact: `whole` is an integer within the range of i128.
    let order = integer.cmp(&(whole as i128));
    // `whole` lies between zero and `float`, so at equality the fraction alone decides.
    Some(order.then(whole.partial_cmp(&float)?))
}

/// The float as an integer, if it is one.
pub fn float_as_integer(float: f64) -> Option<i128> {
    let whole = float.is_finite() && float.trunc() == float && (-I128_END..I128_END).contains(&float);
    whole.then_some(float as i128)
}

/// The integer as a float, if no bit is lost.
pub fn integer_as_float(integer: i128) -> Option<f64> {
    let float = integer as f64;
    (compare_integer_float(integer, float) == Some(Ordering::Equal)).then_some(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_the_mantissa_compare_exactly() {
        let two53 = 9_007_199_254_740_992_i128;
        assert_eq!(compare_integer_float(two53 + 1, two53 as f64), Some(Ordering::Greater));
        assert_eq!(compare_integer_float(two53, two53 as f64), Some(Ordering::Equal));
        assert_eq!(compare_integer_float(i128::from(u64::MAX), 18_446_744_073_709_551_616.0), Some(Ordering::Less));
        assert_eq!(integer_as_float(two53 + 1), None);
    }

    #[test]
    fn fractions_decide_on_both_sides_of_zero() {
        assert_eq!(compare_integer_float(2, 2.5), Some(Ordering::Less));
        assert_eq!(compare_integer_float(-2, -2.5), Some(Ordering::Greater));
        assert_eq!(compare_integer_float(0, -0.0), Some(Ordering::Equal));
        assert_eq!(compare_integer_float(1, f64::INFINITY), Some(Ordering::Less));
        assert_eq!(compare_integer_float(1, f64::NEG_INFINITY), Some(Ordering::Greater));
        assert_eq!(compare_integer_float(1, f64::NAN), None);
    }
}
