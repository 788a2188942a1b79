//! Annotations, and the places where each is allowed.

use crate::findings::{At, ParseFailure};
use crate::lex::Tok;
use crate::schema::ast::{AnnotationAst, Name};
use crate::schema::model::Argument;
use crate::schema::parse::context::{Parser, Place};

impl<'a> Parser<'a, '_> {
    pub(super) fn annotations(&mut self, place: Place) -> Result<Vec<AnnotationAst<'a>>, ParseFailure> {
        let mut annotations = Vec::new();
        while self.cursor.is("@") && !(place == Place::Property && self.is_constraint()) {
            annotations.extend(self.annotation(place)?);
        }
        Ok(annotations)
    }

    /// Whether the next tokens are `@name(` of a body constraint.
    fn is_constraint(&self) -> bool {
        matches!(self.cursor.peek_at(1), Tok::Lower("key" | "unique" | "index" | "range" | "check"))
            && self.cursor.is_at(2, "(")
    }

    /// One annotation; `None` after a finding, if it is not allowed in this place.
    pub(super) fn annotation(&mut self, place: Place) -> Result<Option<AnnotationAst<'a>>, ParseFailure> {
        let start = self.cursor.expect("@")?;
        let name = self.ident("an annotation name")?;
        let refusal = refusal(place, name.text, self.cursor.is("("));
        if let Some(message) = refusal {
            self.skip_parentheses();
            let at = start.to(self.cursor.previous());
            self.schema_error(at, format!("`@{}` {message}", name.text));
            return Ok(None);
        }
        let (mut positional, mut named) = (None, Vec::new());
        if self.cursor.eat("(") {
            if self.cursor.is(")") {
                return self.cursor.unexpected("an argument");
            }
            while !self.cursor.is(")") {
                self.argument(&mut positional, &mut named)?;
                if !self.cursor.eat(",") && !self.cursor.is(")") {
                    return self.cursor.unexpected("`,` or `)`");
                }
            }
            self.cursor.advance();
        }
        Ok(Some(AnnotationAst { name, at: start.to(self.cursor.previous()), positional, named }))
    }

    fn argument(
        &mut self,
        positional: &mut Option<Argument>,
        named: &mut Vec<(Name<'a>, Argument)>,
    ) -> Result<(), ParseFailure> {
        if matches!(self.cursor.peek(), Tok::Lower(_)) && self.cursor.is_at(1, "=") {
            let name = self.ident("an argument name")?;
            self.cursor.advance();
            let (value, _) = self.value()?;
            if matches!(value, Argument::Identifier(_)) {
                self.schema_error(name.at, format!("the value of `{}` must be a literal", name.text));
            }
            if named.iter().any(|(other, _)| other.text == name.text) {
                self.schema_error(name.at, format!("the argument `{}` is written twice", name.text));
            }
            named.push((name, value));
            return Ok(());
        }
        let (value, at) = self.value()?;
        if positional.is_some() || !named.is_empty() {
            self.schema_error(at, "an annotation has at most one argument without a name, and it comes first");
        }
        *positional = Some(value);
        Ok(())
    }

    fn value(&mut self) -> Result<(Argument, At), ParseFailure> {
        let value = match self.cursor.peek() {
            Tok::Str(text) => Argument::Text(text.as_ref().to_owned()),
            Tok::Int(text) | Tok::Float(text) => Argument::Number((*text).to_owned()),
            Tok::Lower("true") => Argument::Bool(true),
            Tok::Lower("false") => Argument::Bool(false),
            Tok::Lower(text) => Argument::Identifier((*text).to_owned()),
            _ => return self.cursor.unexpected("a literal or a name"),
        };
        Ok((value, self.cursor.advance().at))
    }
}

/// Why an annotation of this name is not allowed in this place.
fn refusal(place: Place, name: &str, arguments: bool) -> Option<&'static str> {
    let header = matches!(place, Place::NodeHeader | Place::EdgeHeader | Place::InterfaceHeader);
    match name {
        _ if place == Place::InterfaceHeader => Some("is not allowed on an interface: interfaces carry no annotations"),
        "card" => Some("belongs in the header of an edge type"),
        "key" | "unique" | "index" | "embed" if header => {
            Some("is not allowed in the header of a type; write it in the body")
        }
        "range" | "check" if header => Some("is not allowed in the header of a type; write it in the body"),
        "range" | "check" if place == Place::InterfaceProperty => {
            Some("is a constraint, which interfaces do not carry")
        }
        "range" => Some("needs a property and bounds, as in `@range(age, 0..150)`"),
        "check" => Some("needs a property and a pattern, as in `@check(name, \"^[A-Z]\")`"),
        "key" | "unique" | "index" if arguments => Some(
            "with arguments is a constraint, which interfaces do not carry; on a property write it without arguments",
        ),
        _ => None,
    }
}
