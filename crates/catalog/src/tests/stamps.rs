//! Other formats are refused, with what to do.

use omnigraph_types::{GraphName, Problem};
use serde_json::{Value, json};

use super::golden::{batch_of, text_of};
use super::samples::{self, Dice, VERSION};
use crate::error::CatalogError;
use crate::format::v2::{decode_state, encode_state};
use crate::names::read_entry;

fn refusal(error: CatalogError) -> (u32, u32, String) {
    let failure = error.failure();
    let Problem::StorageFormat { found, supported } = failure.problem else { panic!("{failure:?}") };
    (found, supported, failure.message)
}

fn state_of_format(format: u32) -> CatalogError {
    let state = samples::state(&mut Dice::new(1));
    let mut rows: Vec<Value> = serde_json::from_str(&text_of(&encode_state(&state).unwrap())).unwrap();
    // What only that format knows comes after the stamp, and is not looked at.
    rows[0]["body"] = json!({ "format": format, "shape": "of its own" });
    decode_state(&[batch_of(&Value::from(rows).to_string())], VERSION).unwrap_err()
}

#[test]
fn state_of_a_lower_format_is_refused_with_the_way_to_export() {
    let (found, supported, message) = refusal(state_of_format(1));
    assert_eq!((found, supported), (1, 2));
    assert!(message.contains("export it with the older program"), "{message}");
}

#[test]
fn state_of_a_higher_format_is_refused_with_the_advice_to_upgrade() {
    for format in [3, 4, u32::MAX] {
        let (found, supported, message) = refusal(state_of_format(format));
        assert_eq!((found, supported), (format, 2));
        assert!(message.contains("upgrade this program"), "{message}");
    }
}

#[test]
fn entry_of_another_format_is_refused() {
    let name: GraphName = "harbour".parse().unwrap();
    for format in [1, 3] {
        let entry = json!({ "format": format, "state": "lent" }).to_string();
        let (found, supported, _) = refusal(read_entry(&name, entry.as_bytes()).unwrap_err());
        assert_eq!((found, supported), (format, 2));
    }
}
