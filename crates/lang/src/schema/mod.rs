//! The schema language: text to declarations, declarations to the accepted contract, and the contract back to text.

mod ast;
mod canonical;
mod check;
mod contract;
mod describe;
mod invariants;
mod model;
mod parse;
mod source;
mod types;

pub use check::{ParsedSchema, Rename, parse_schema};
pub use contract::ContractError;
pub use model::{
    Annotation, Argument, Cardinality, Check, Embed, InterfaceDef, InterfaceProperty, Member, Metadata, Origin,
    PropertyDef, Range, Schema, SchemaHash, SchemaHashError, TypeDef, TypeKind, compile_check,
};
pub use types::{Bound, Nullability, PropertyType, Scalar};
