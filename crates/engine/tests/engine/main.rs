//! The engine over a real store in a temporary folder.

mod arrow_load;
mod branches;
mod checks;
mod conflicts;
mod constraints;
mod durability;
mod graphs;
mod left_behind;
mod modes;
mod names;
mod ndjson;
mod oracle;
mod reads;
mod support;
mod tables;
