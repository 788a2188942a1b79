//! Conditions, expressions and literals.

use omnigraph_types::FeatureName;

use crate::findings::ParseFailure;
use crate::lex::Tok;
use crate::query::ast::{ConditionAst, ExprAst, ExprKindAst, FunctionAst, LiteralAst};
use crate::query::ir::CompareOp;
use crate::query::parse::context::{Parser, fail};

/// Literals of one list.
const LIST_ITEMS_MAX: usize = 65_536;

impl<'a> Parser<'a> {
    /// A condition as a clause or predicate.
    pub(super) fn condition(&mut self) -> Result<ConditionAst<'a>, ParseFailure> {
        let first = self.conjunction()?;
        if !self.cursor.is_word("or") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.cursor.eat_word("or") {
            parts.push(self.conjunction()?);
        }
        Ok(ConditionAst::Or(parts))
    }

    fn conjunction(&mut self) -> Result<ConditionAst<'a>, ParseFailure> {
        let first = self.unit()?;
        if !self.cursor.is_word("and") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.cursor.eat_word("and") {
            parts.push(self.unit()?);
        }
        Ok(ConditionAst::And(parts))
    }

    fn unit(&mut self) -> Result<ConditionAst<'a>, ParseFailure> {
        if self.cursor.is_word("not") {
            if self.cursor.is_at(1, "{") {
                return self.cursor.unexpected_with(
                    "a condition",
                    Some("`not { … }` is a clause of its own; it takes no `and` or `or`"),
                );
            }
            self.cursor.advance();
            return Ok(ConditionAst::Not(Box::new(self.nested(Self::unit)?)));
        }
        if self.cursor.eat("(") {
            let inner = self.nested(Self::condition)?;
            self.cursor.expect(")")?;
            return Ok(inner);
        }
        let left = self.expr()?;
        let op = match self.cursor.peek() {
            Tok::Punct("=") => CompareOp::Equal,
            Tok::Punct("!=") => CompareOp::NotEqual,
            Tok::Punct("<") => CompareOp::Less,
            Tok::Punct("<=") => CompareOp::LessOrEqual,
            Tok::Punct(">") => CompareOp::Greater,
            Tok::Punct(">=") => CompareOp::GreaterOrEqual,
            _ => return self.word_operator(left),
        };
        self.cursor.advance();
        Ok(ConditionAst::Compare { left, op, right: self.expr()? })
    }

    fn word_operator(&mut self, left: ExprAst<'a>) -> Result<ConditionAst<'a>, ParseFailure> {
        if self.cursor.eat_word("contains") {
            return Ok(ConditionAst::Contains { left, right: self.expr()? });
        }
        if self.cursor.eat_word("starts_with") {
            return Ok(ConditionAst::StartsWith { left, right: self.expr()? });
        }
        if self.cursor.eat_word("in") {
            return Ok(ConditionAst::In { left, right: self.expr()? });
        }
        if self.cursor.eat_word("is") {
            let negated = self.cursor.eat_word("not");
            self.cursor.expect_word("null")?;
            return Ok(if negated {
                ConditionAst::IsNotNull { operand: left }
            } else {
                ConditionAst::IsNull { operand: left }
            });
        }
        if matches!(left.kind, ExprKindAst::Unsupported) {
            return Ok(ConditionAst::Unsupported);
        }
        self.cursor.unexpected("a comparison operator, `contains`, `starts_with`, `in` or `is`")
    }

    pub(super) fn expr(&mut self) -> Result<ExprAst<'a>, ParseFailure> {
        let start = self.cursor.place();
        let kind = match *self.cursor.peek() {
            Tok::Var(_) => {
                let var = self.var()?;
                if self.cursor.eat(".") {
                    ExprKindAst::Access { var, property: self.ident("a property name")? }
                } else {
                    ExprKindAst::Var(var)
                }
            }
            Tok::Lower(word) if self.cursor.is_at(1, "(") => self.call(word)?,
            Tok::Lower("true" | "false" | "null") => ExprKindAst::Literal(self.literal()?),
            Tok::Lower(_) => ExprKindAst::Alias(self.ident("a name")?),
            _ => ExprKindAst::Literal(self.literal()?),
        };
        Ok(ExprAst { kind, at: start.to(self.cursor.previous()) })
    }

    /// `name( … )`.
    fn call(&mut self, name: &'a str) -> Result<ExprKindAst<'a>, ParseFailure> {
        if name == "date" || name == "datetime" {
            return Ok(ExprKindAst::Literal(self.literal()?));
        }
        let start = self.cursor.place();
        if let Some(function) = FunctionAst::by_name(name) {
            self.cursor.advance();
            self.cursor.advance();
            let argument = Box::new(self.nested(Self::expr)?);
            self.cursor.expect(")")?;
            return Ok(ExprKindAst::Aggregate { function, argument });
        }
        let feature = match name {
            "now" => {
                self.cursor.advance();
                self.cursor.advance();
                self.cursor.expect(")")?;
                return Ok(ExprKindAst::Now);
            }
            "search" => FeatureName::Search,
            "match_text" => FeatureName::MatchText,
            "fuzzy" => FeatureName::Fuzzy,
            "nearest" => FeatureName::Nearest,
            "bm25" => FeatureName::Bm25,
            "rrf" => FeatureName::Rrf,
            _ => return self.cursor.unexpected_with("an expression", Some("there is no function of this name")),
        };
        let (least, most) = match name {
            "fuzzy" | "rrf" => (2, 3),
            _ => (2, 2),
        };
        self.cursor.advance();
        self.cursor.advance();
        let mut arguments = 0;
        while !self.cursor.is(")") {
            self.nested(Self::expr)?;
            arguments += 1;
            if !self.cursor.eat(",") && !self.cursor.is(")") {
                return self.cursor.unexpected("`,` or `)`");
            }
        }
        let end = self.cursor.expect(")")?;
        if !(least..=most).contains(&arguments) {
            return fail(
                start.to(end),
                format!("`{name}` takes {least} arguments{}", if most > least { " or one more" } else { "" }),
            );
        }
        self.unsupported(feature, start);
        Ok(ExprKindAst::Unsupported)
    }

    /// A literal, a variable or `now()`.
    pub(super) fn assigned_value(&mut self) -> Result<ExprAst<'a>, ParseFailure> {
        let start = self.cursor.place();
        let kind = match *self.cursor.peek() {
            Tok::Var(_) => ExprKindAst::Var(self.var()?),
            Tok::Lower("now") if self.cursor.is_at(1, "(") => {
                self.cursor.advance();
                self.cursor.advance();
                self.cursor.expect(")")?;
                ExprKindAst::Now
            }
            _ => ExprKindAst::Literal(self.literal()?),
        };
        Ok(ExprAst { kind, at: start.to(self.cursor.previous()) })
    }

    fn literal(&mut self) -> Result<LiteralAst, ParseFailure> {
        let at = self.cursor.place();
        let literal = match self.cursor.peek() {
            Tok::Str(text) => LiteralAst::Text(text.as_ref().to_owned()),
            Tok::Int(digits) => {
                let legal = |number: &i128| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number);
                match digits.parse().ok().filter(legal) {
                    Some(number) => LiteralAst::Integer(number),
                    None => return fail(at, "the integer is outside -2^63 to 2^64-1"),
                }
            }
            Tok::Float(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => LiteralAst::Float(number),
                _ => return fail(at, "the number overflows F64"),
            },
            Tok::Lower("true") => LiteralAst::Bool(true),
            Tok::Lower("false") => LiteralAst::Bool(false),
            Tok::Lower("null") => LiteralAst::Null,
            Tok::Lower(word @ ("date" | "datetime")) => {
                let date = *word == "date";
                self.cursor.advance();
                self.cursor.expect("(")?;
                let Tok::Str(text) = self.cursor.peek().clone() else {
                    return self.cursor.unexpected("a text in quotes");
                };
                self.cursor.advance();
                self.cursor.expect(")")?;
                let text = text.into_owned();
                return Ok(if date { LiteralAst::Date(text) } else { LiteralAst::DateTime(text) });
            }
            Tok::Punct("[") => return self.list_literal(),
            _ => return self.cursor.unexpected("a value"),
        };
        self.cursor.advance();
        Ok(literal)
    }

    fn list_literal(&mut self) -> Result<LiteralAst, ParseFailure> {
        let start = self.cursor.expect("[")?;
        let mut items = Vec::new();
        while !self.cursor.is("]") {
            if items.len() == LIST_ITEMS_MAX {
                return fail(start, format!("a list literal has at most {LIST_ITEMS_MAX} items; use a parameter"));
            }
            items.push(self.nested(Self::literal)?);
            if !self.cursor.eat(",") && !self.cursor.is("]") {
                return self.cursor.unexpected("`,` or `]`");
            }
        }
        self.cursor.advance();
        Ok(LiteralAst::List(items))
    }
}
