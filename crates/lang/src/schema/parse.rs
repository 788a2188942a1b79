//! Schema text to declarations.
//!
//! What the grammar refuses stops the parse with one `ParseError`. What it takes and a rule of the language refuses is a `SchemaError`; those
//! that only the text shows (an argument list that means nothing) are collected here, the others by `check`.

use crate::error::SCHEMA_ERROR;
use crate::findings::{At, Findings, ParseFailure};
use crate::lex::{Cursor, Tok};
use crate::schema::ast::{
    AnnotationAst, ConstraintAst, ConstraintKindAst, Declarations, InterfaceAst, KindAst, MembersRule, Name, NumberAst,
    PropertyAst, TypeAst,
};
use crate::schema::model::{Argument, Cardinality};
use crate::schema::types::{Nullability, PropertyType, Scalar};

/// Longest vector.
const VECTOR_LENGTH_MAX: u32 = 2_147_483_647;

/// Where annotations stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    InterfaceHeader,
    NodeHeader,
    EdgeHeader,
    InterfaceProperty,
    Property,
}

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

struct Parser<'a, 'f> {
    cursor: Cursor<'a>,
    findings: &'f mut Findings<'a>,
}

/// Properties and constraints of a body.
type Body<'a> = (Vec<PropertyAst<'a>>, Vec<ConstraintAst<'a>>);

impl<'a> Parser<'a, '_> {
    fn schema_error(&mut self, at: At, message: impl Into<String>) {
        self.findings.add(SCHEMA_ERROR, at, message);
    }

    fn type_name(&mut self) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Upper(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with("a type name", Some("type names begin with an upper-case letter")),
        }
    }

    fn ident(&mut self, what: &str) -> Result<Name<'a>, ParseFailure> {
        match *self.cursor.peek() {
            Tok::Lower(text) => Ok(Name { text, at: self.cursor.advance().at }),
            _ => self.cursor.unexpected_with(what, Some("names here begin with a lower-case letter or `_`")),
        }
    }

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
            return self.cursor.unexpected_with("`{`", Some("annotations stand before `implements`"));
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
                    self.schema_error(at.to(self.cursor.previous()), "`@card` stands here twice; keep one");
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

    /// `@card(min..max)`; a malformed one is a finding and counts as unbounded.
    fn card(&mut self) -> Result<Cardinality, ParseFailure> {
        let start = self.cursor.advance().at;
        self.cursor.advance();
        let open = self.cursor.is("(");
        let tokens = [self.cursor.peek_at(1), self.cursor.peek_at(2), self.cursor.peek_at(3), self.cursor.peek_at(4)];
        let bounds = match tokens {
            [Tok::Int(min), Tok::Punct(".."), Tok::Punct(")"), _] => Some((*min, None)),
            [Tok::Int(min), Tok::Punct(".."), Tok::Int(max), Tok::Punct(")")] => Some((*min, Some(*max))),
            _ => None,
        };
        self.skip_parentheses();
        let at = start.to(self.cursor.previous());
        let parsed = bounds.filter(|_| open).and_then(|(min, max)| {
            let min = min.parse::<u32>().ok()?;
            let max = max.map(|max| max.parse::<u32>().ok()).map_or(Some(None), |max| max.map(Some))?;
            Some(Cardinality { min, max })
        });
        match parsed {
            Some(card) if card.max.is_none_or(|max| card.min <= max) => Ok(card),
            Some(_) => {
                self.schema_error(at, "bad cardinality: the lower bound is above the upper one");
                Ok(Cardinality::ANY)
            }
            None => {
                let message = "bad cardinality: expected two bounds between 0 and 4294967295";
                self.findings.add_with_hint(SCHEMA_ERROR, at, message, "write `@card(0..1)` or `@card(1..)`");
                Ok(Cardinality::ANY)
            }
        }
    }

    /// Passes `( … )` if it is there, up to the matching close or the end.
    fn skip_parentheses(&mut self) {
        if !self.cursor.is("(") {
            return;
        }
        let mut depth = 0_usize;
        loop {
            match self.cursor.advance().tok {
                Tok::Punct("(") => depth += 1,
                Tok::Punct(")") => depth -= 1,
                Tok::End => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
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

    fn property_type(&mut self) -> Result<PropertyType, ParseFailure> {
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
        let mut seen = std::collections::BTreeSet::new();
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

    /// A constraint of a node's or edge's body; `None` if it was malformed, which is then a finding.
    fn constraint(&mut self) -> Result<Option<ConstraintAst<'a>>, ParseFailure> {
        let start = self.cursor.expect("@")?;
        let name = self.ident("a constraint name")?;
        let rule = MembersRule::by_name(name.text);
        if rule.is_none() && name.text != "range" && name.text != "check" {
            let message = format!("`@{}` annotates nothing here", name.text);
            let hint = Some("write annotations directly after the property they belong to, before any constraint");
            return Err(ParseFailure { at: start.to(name.at), message, hint });
        }
        if !self.cursor.is("(") {
            let message = format!("`@{}` in a body needs its arguments in parentheses", name.text);
            self.schema_error(start.to(name.at), message);
            return Ok(None);
        }
        self.cursor.advance();
        let kind = match rule {
            Some(rule) => self.members(rule)?,
            None if name.text == "range" => Some(self.range()?),
            None => Some(self.check()?),
        };
        let at = start.to(self.cursor.previous());
        Ok(kind.map(|kind| ConstraintAst { at, kind }))
    }

    fn members(&mut self, rule: MembersRule) -> Result<Option<ConstraintKindAst<'a>>, ParseFailure> {
        if let Tok::Str(_) | Tok::Int(_) | Tok::Float(_) = self.cursor.peek() {
            let at = self.cursor.place();
            self.schema_error(at, format!("`@{}` lists property names, not values", rule.name()));
            while !matches!(self.cursor.peek(), Tok::Punct(")") | Tok::Punct("}") | Tok::End) {
                self.cursor.advance();
            }
            self.cursor.expect(")")?;
            return Ok(None);
        }
        if self.cursor.is(")") {
            return self.cursor.unexpected("a property name");
        }
        let mut members = Vec::new();
        while !self.cursor.is(")") {
            members.push(self.ident("a property name")?);
            if !self.cursor.eat(",") && !self.cursor.is(")") {
                return self.cursor.unexpected("`,` or `)`");
            }
        }
        self.cursor.advance();
        Ok(Some(ConstraintKindAst::Members { rule, members }))
    }

    fn range(&mut self) -> Result<ConstraintKindAst<'a>, ParseFailure> {
        let property = self.ident("a property name")?;
        self.cursor.expect(",")?;
        let min = self.number();
        self.cursor.expect("..")?;
        let max = self.number();
        if min.is_none() && max.is_none() {
            return self.cursor.unexpected_with("a number", Some("a range needs at least one bound, such as `0..`"));
        }
        self.cursor.eat(",");
        self.cursor.expect(")")?;
        Ok(ConstraintKindAst::Range { property, min, max })
    }

    fn number(&mut self) -> Option<NumberAst<'a>> {
        let at = self.cursor.place();
        let number = match *self.cursor.peek() {
            Tok::Int(text) => NumberAst::Int(text, at),
            Tok::Float(text) => NumberAst::Float(text, at),
            _ => return None,
        };
        self.cursor.advance();
        Some(number)
    }

    fn check(&mut self) -> Result<ConstraintKindAst<'a>, ParseFailure> {
        let property = self.ident("a property name")?;
        self.cursor.expect(",")?;
        let Tok::Str(pattern) = self.cursor.peek().clone() else {
            return self.cursor.unexpected("the pattern in quotes");
        };
        self.cursor.advance();
        self.cursor.eat(",");
        self.cursor.expect(")")?;
        Ok(ConstraintKindAst::Check { property, pattern })
    }

    fn annotations(&mut self, place: Place) -> Result<Vec<AnnotationAst<'a>>, ParseFailure> {
        let mut annotations = Vec::new();
        while self.cursor.is("@") && !(place == Place::Property && self.is_constraint()) {
            annotations.extend(self.annotation(place)?);
        }
        Ok(annotations)
    }

    /// Whether `@name(` of a body constraint stands here.
    fn is_constraint(&self) -> bool {
        matches!(self.cursor.peek_at(1), Tok::Lower("key" | "unique" | "index" | "range" | "check"))
            && self.cursor.is_at(2, "(")
    }

    /// One annotation; `None` if it cannot stand here, which is then a finding.
    fn annotation(&mut self, place: Place) -> Result<Option<AnnotationAst<'a>>, ParseFailure> {
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
                self.schema_error(name.at, format!("the argument `{}` stands here twice", name.text));
            }
            named.push((name, value));
            return Ok(());
        }
        let (value, at) = self.value()?;
        if positional.is_some() || !named.is_empty() {
            self.schema_error(at, "an annotation has at most one argument without a name, and it stands first");
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

/// Why an annotation of this name cannot stand in this place.
fn refusal(place: Place, name: &str, arguments: bool) -> Option<&'static str> {
    let header = matches!(place, Place::NodeHeader | Place::EdgeHeader | Place::InterfaceHeader);
    match name {
        _ if place == Place::InterfaceHeader => Some("cannot stand on an interface: interfaces carry no annotations"),
        "card" => Some("belongs in the header of an edge type"),
        "key" | "unique" | "index" | "embed" if header => {
            Some("cannot stand in the header of a type; write it in the body")
        }
        "range" | "check" if header => Some("cannot stand in the header of a type; write it in the body"),
        "range" | "check" if place == Place::InterfaceProperty => {
            Some("is a constraint, which interfaces do not carry")
        }
        "range" => Some("needs a property and bounds, as in `@range(age, 0..150)`"),
        "check" => Some("needs a property and a pattern, as in `@check(name, \"^[A-Z]\")`"),
        "key" | "unique" | "index" if arguments => {
            Some("with arguments is a constraint, which interfaces do not carry; on a property it stands alone")
        }
        _ => None,
    }
}
