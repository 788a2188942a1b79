//! Schema text to declarations.
//!
//! A text that the grammar refuses stops the parse with one `ParseError`. A text that the grammar accepts and a rule of the language refuses is a
//! `SchemaError`: the parser collects those that are lost in the declarations (such as an argument list without a meaning), `check` the others.

mod annotations;
mod constraints;
mod context;
mod types;

use crate::findings::{Findings, ParseFailure};
use crate::lex::{Cursor, Tok};
use crate::schema::ast::{ConstraintAst, Declarations, InterfaceAst, KindAst, PropertyAst, TypeAst};
use crate::schema::model::Cardinality;
use crate::schema::parse::context::{Parser, Place};
use crate::schema::types::Nullability;

/// The declarations of the text; what rules refuse is added to `findings`.
pub(crate) fn parse_declarations<'a>(
    text: &'a str,
    findings: &mut Findings<'a>,
) -> Result<Declarations<'a>, ParseFailure> {
    let mut parser = Parser { cursor: Cursor::new(text)?, findings };
    let mut declarations = Declarations::default();
    loop {
        match parser.cursor.peek() {
            Tok::End => return Ok(declarations),
            Tok::Lower("interface") => declarations.interfaces.push(parser.interface()?),
            Tok::Lower("node") => declarations.types.push(parser.node()?),
            Tok::Lower("edge") => declarations.types.push(parser.edge()?),
            _ => return parser.cursor.unexpected("`node`, `edge` or `interface`"),
        }
    }
}

/// Properties and constraints of a body.
type Body<'a> = (Vec<PropertyAst<'a>>, Vec<ConstraintAst<'a>>);

impl<'a> Parser<'a, '_> {
    fn interface(&mut self) -> Result<InterfaceAst<'a>, ParseFailure> {
        self.cursor.advance();
        let name = self.type_name()?;
        self.annotations(Place::InterfaceHeader)?;
        self.cursor.expect("{")?;
        let (properties, _) = self.body(Place::InterfaceProperty)?;
        Ok(InterfaceAst { name, properties })
    }

    fn node(&mut self) -> Result<TypeAst<'a>, ParseFailure> {
        self.cursor.advance();
        let name = self.type_name()?;
        let annotations = self.annotations(Place::NodeHeader)?;
        let mut implements = Vec::new();
        if self.cursor.eat_word("implements") {
            implements.push(self.type_name()?);
            while self.cursor.eat(",") && !self.cursor.is("{") {
                implements.push(self.type_name()?);
            }
        }
        if !self.cursor.is("{") && self.cursor.is("@") {
            return self.cursor.unexpected_with("`{`", Some("write annotations before `implements`"));
        }
        self.cursor.expect("{")?;
        let (properties, constraints) = self.body(Place::Property)?;
        Ok(TypeAst { name, kind: KindAst::Node { implements }, annotations, properties, constraints })
    }

    fn edge(&mut self) -> Result<TypeAst<'a>, ParseFailure> {
        self.cursor.advance();
        let name = self.type_name()?;
        self.cursor.expect(":")?;
        let from = self.type_name()?;
        self.cursor.expect("->")?;
        let to = self.type_name()?;
        let (mut annotations, mut card) = (Vec::new(), None);
        while self.cursor.is("@") {
            if matches!(self.cursor.peek_at(1), Tok::Lower("card")) {
                let at = self.cursor.place();
                let parsed = self.card()?;
                if card.is_some() {
                    self.schema_error(at.to(self.cursor.previous()), "`@card` is written twice; keep one");
                }
                card = Some(parsed);
            } else {
                annotations.extend(self.annotation(Place::EdgeHeader)?);
            }
        }
        let (properties, constraints) =
            if self.cursor.eat("{") { self.body(Place::Property)? } else { Default::default() };
        let kind = KindAst::Edge { from, to, card: card.unwrap_or(Cardinality::ANY) };
        Ok(TypeAst { name, kind, annotations, properties, constraints })
    }

    fn body(&mut self, place: Place) -> Result<Body<'a>, ParseFailure> {
        let (mut properties, mut constraints) = (Vec::new(), Vec::new());
        loop {
            match *self.cursor.peek() {
                Tok::Punct("}") => {
                    self.cursor.advance();
                    return Ok((properties, constraints));
                }
                Tok::Punct("@") if place == Place::InterfaceProperty => {
                    let at = self.cursor.advance().at;
                    self.ident("a constraint name")?;
                    self.skip_parentheses();
                    let at = at.to(self.cursor.previous());
                    self.schema_error(at, "an interface has no constraints in its body; write them in the node types");
                }
                Tok::Punct("@") => constraints.extend(self.constraint()?),
                Tok::Lower(_) => properties.push(self.property(place)?),
                Tok::Upper(_) => {
                    return self.cursor.unexpected_with(
                        "a property, a constraint or `}`",
                        Some("property names begin with a lower-case letter or `_`"),
                    );
                }
                _ => return self.cursor.unexpected("a property, a constraint or `}`"),
            }
        }
    }

    fn property(&mut self, place: Place) -> Result<PropertyAst<'a>, ParseFailure> {
        let name = self.ident("a property name")?;
        self.cursor.expect(":")?;
        let ty = self.property_type()?;
        let nullability = if self.cursor.eat("?") { Nullability::Nullable } else { Nullability::Required };
        if self.cursor.is("?") {
            return self.cursor.unexpected_with("an annotation or the next property", Some("one `?` is enough"));
        }
        let annotations = self.annotations(place)?;
        self.cursor.eat(",");
        Ok(PropertyAst { name, ty, nullability, annotations })
    }
}
