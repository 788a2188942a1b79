//! The rows that a commit changed, as `log`, `operation` and `load` print them.

use omnigraph_client::TypeCounts;
use serde_json::{Value, json};

use crate::output::{Output, count};

/// Rows changed by type: `Airport +3,376` for people, objects for programs.
pub(crate) fn changes(counts: &[TypeCounts], output: Output) -> Value {
    match output {
        Output::Json => {
            let object = |counts: &TypeCounts| {
                json!({
                    "type": counts.type_name, "inserted": counts.inserted, "updated": counts.updated,
                    "deleted": counts.deleted, "total": counts.row_count,
                })
            };
            counts.iter().map(object).collect()
        }
        Output::Table | Output::Csv => Value::from(counts.iter().map(change).collect::<Vec<_>>().join(", ")),
    }
}

fn change(counts: &TypeCounts) -> String {
    let mut text = counts.type_name.clone();
    for (sign, rows) in [("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted)] {
        if rows > 0 {
            text.push_str(&format!(" {sign}{}", count(rows)));
        }
    }
    text
}
