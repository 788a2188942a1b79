//! Types of properties.

use std::collections::BTreeSet;

use crate::findings::ParseFailure;
use crate::lex::{Cursor, Tok};
use crate::schema::parse::context::Parser;
use crate::schema::types::{PropertyType, Scalar};

/// Longest vector.
const VECTOR_LENGTH_MAX: u32 = 2_147_483_647;

impl Parser<'_, '_> {
    pub(super) fn property_type(&mut self) -> Result<PropertyType, ParseFailure> {
        if self.cursor.is("[") {
            return self.list_type();
        }
        if self.cursor.is_word("enum") {
            return self.enum_type();
        }
        let hint =
            "types are String, Bool, I32, I64, U32, U64, F32, F64, Date, DateTime, Blob, Vector(n), enum(a, b) and [T]";
        match *self.cursor.peek() {
            Tok::Upper("Vector") => self.vector_type(),
            Tok::Upper("Blob") => {
                self.cursor.advance();
                Ok(PropertyType::Blob)
            }
            Tok::Upper(name) => match Scalar::by_name(name) {
                Some(scalar) => {
                    self.cursor.advance();
                    Ok(PropertyType::Scalar(scalar))
                }
                None => self.cursor.unexpected_with("a type", Some(hint)),
            },
            _ => self.cursor.unexpected_with("a type", Some(hint)),
        }
    }

    fn list_type(&mut self) -> Result<PropertyType, ParseFailure> {
        let start = self.cursor.expect("[")?;
        let scalar = match *self.cursor.peek() {
            Tok::Upper("Blob") => {
                self.cursor.advance();
                None
            }
            Tok::Upper(name) if Scalar::by_name(name).is_some() => {
                self.cursor.advance();
                Scalar::by_name(name)
            }
            Tok::Upper("Vector") | Tok::Lower("enum") | Tok::Punct("[") => {
                self.property_type()?;
                None
            }
            _ => return self.cursor.unexpected("a scalar type"),
        };
        let end = self.cursor.expect("]")?;
        if scalar.is_none() {
            self.schema_error(start.to(end), "a list holds scalars only: no list of Blob, Vector, enum or list");
        }
        Ok(PropertyType::List(scalar.unwrap_or(Scalar::String)))
    }

    fn enum_type(&mut self) -> Result<PropertyType, ParseFailure> {
        self.cursor.advance();
        self.cursor.expect("(")?;
        if self.cursor.is(")") {
            return self.cursor.unexpected("an enum value");
        }
        let named = self.cursor.list(")", Cursor::enum_value)?;
        let mut values: Vec<String> = Vec::with_capacity(named.len());
        let mut seen = BTreeSet::new();
        for (value, at) in named {
            if seen.insert(value) {
                values.push(value.to_owned());
            } else {
                self.schema_error(at, format!("the enum value `{value}` is listed twice"));
            }
        }
        values.sort();
        Ok(PropertyType::Enum(values))
    }

    fn vector_type(&mut self) -> Result<PropertyType, ParseFailure> {
        let start = self.cursor.advance().at;
        self.cursor.expect("(")?;
        let length = match *self.cursor.peek() {
            Tok::Int(digits) if !digits.starts_with('-') => digits.parse::<u32>().ok(),
            _ => return self.cursor.unexpected("the number of dimensions"),
        };
        self.cursor.advance();
        let end = self.cursor.expect(")")?;
        match length {
            Some(length) if (1..=VECTOR_LENGTH_MAX).contains(&length) => Ok(PropertyType::Vector(length)),
            _ => {
                let message = format!("dimension out of bounds: a vector has 1 to {VECTOR_LENGTH_MAX} dimensions");
                self.schema_error(start.to(end), message);
                Ok(PropertyType::Vector(1))
            }
        }
    }
}
