//! Format 1 of the stored contract: its JSON as data types of its own, and their conversions beside them.

mod conversion;
mod stored;

pub(in crate::schema) use conversion::FORMAT;
pub(in crate::schema) use stored::StoredSchema;
