//! Constraints: those of a body, and `@card` of an edge's header.

use crate::code::Code;
use crate::findings::ParseFailure;
use crate::lex::Tok;
use crate::schema::ast::{ConstraintAst, ConstraintKindAst, MembersRule, NumberAst};
use crate::schema::model::Cardinality;
use crate::schema::parse::context::Parser;

impl<'a> Parser<'a, '_> {
    /// A constraint of a node's or edge's body; `None` if it was malformed, which is then a finding.
    pub(super) fn constraint(&mut self) -> Result<Option<ConstraintAst<'a>>, ParseFailure> {
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

    /// `@card(min..max)`; a malformed one is a finding and counts as unbounded.
    pub(super) fn card(&mut self) -> Result<Cardinality, ParseFailure> {
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
                self.findings.add_with_hint(Code::Schema, at, message, "write `@card(0..1)` or `@card(1..)`");
                Ok(Cardinality::ANY)
            }
        }
    }
}
