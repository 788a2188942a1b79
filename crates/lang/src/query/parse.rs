//! Query text to syntax, by the grammar alone.
//!
//! Parts that are recognized and not run are parsed to their end and listed as unsupported, so that they are never read as something else.
//! The first text that the grammar refuses stops the parse.

mod context;
mod expr;
mod mutation;

use omnigraph_types::FeatureName;

use crate::findings::ParseFailure;
use crate::lex::{Cursor, Tok};
use crate::query::ast::{
    BodyAst, ClauseAst, CountAst, HopsAst, OrderAst, ParamAst, ProjectionAst, QueryAst, ReadAst, ShapeAst, TraversalAst,
};
use crate::query::ir::Direction;
use crate::query::parse::context::{Parser, fail};
use crate::schema::{Nullability, PropertyType, Scalar};

/// Clauses of one query.
const CLAUSES_MAX: usize = 1_000;

/// All queries of the text.
pub(crate) fn parse_queries(text: &str) -> Result<Vec<QueryAst<'_>>, ParseFailure> {
    let cursor = Cursor::new(text)?;
    let mut parser = Parser { cursor, depth: 0, clauses: 0, params: Vec::new(), unsupported: Vec::new() };
    let mut queries = Vec::new();
    while *parser.cursor.peek() != Tok::End {
        queries.push(parser.query()?);
    }
    Ok(queries)
}

impl<'a> Parser<'a> {
    fn query(&mut self) -> Result<QueryAst<'a>, ParseFailure> {
        (self.params, self.unsupported, self.clauses) = (Vec::new(), Vec::new(), 0);
        self.cursor.expect_word("query")?;
        let name = self.ident("a query name")?;
        self.cursor.expect("(")?;
        let mut params = Vec::new();
        while !self.cursor.is(")") {
            params.push(self.param()?);
            if !self.cursor.eat(",") && !self.cursor.is(")") {
                return self.cursor.unexpected("`,` or `)`");
            }
        }
        self.cursor.advance();
        self.params = params.iter().map(|param: &ParamAst<'a>| param.name.text).collect();
        let (mut description, mut instruction) = (None, None);
        while self.cursor.eat("@") {
            let name = self.ident("`description` or `instruction`")?;
            let slot = match name.text {
                "description" => &mut description,
                "instruction" => &mut instruction,
                _ => return fail(name.at, format!("a query has no annotation `@{}`", name.text)),
            };
            if slot.is_some() {
                return fail(name.at, format!("`@{}` is written twice", name.text));
            }
            self.cursor.expect("(")?;
            let Tok::Str(text) = self.cursor.peek().clone() else { return self.cursor.unexpected("a text in quotes") };
            *slot = Some(text.into_owned());
            self.cursor.advance();
            self.cursor.expect(")")?;
        }
        self.cursor.expect("{")?;
        let body = match self.cursor.peek() {
            Tok::Lower("match") => BodyAst::Read(self.read()?),
            Tok::Lower("insert" | "update" | "delete") => BodyAst::Mutation { mixed: self.mutation()? },
            _ => return self.cursor.unexpected("`match`, `insert`, `update` or `delete`"),
        };
        self.cursor.expect("}")?;
        let unsupported = std::mem::take(&mut self.unsupported);
        Ok(QueryAst { name, description, instruction, params, body, unsupported })
    }

    fn param(&mut self) -> Result<ParamAst<'a>, ParseFailure> {
        let name = self.var()?;
        if name.is_anonymous() {
            return fail(name.at, "a parameter needs a name of its own");
        }
        self.cursor.expect(":")?;
        let ty = self.param_type()?;
        let nullability = if self.cursor.eat("?") { Nullability::Nullable } else { Nullability::Required };
        Ok(ParamAst { name, ty, nullability })
    }

    fn param_type(&mut self) -> Result<PropertyType, ParseFailure> {
        let hint = "parameters are String, Bool, I32, I64, U32, U64, F32, F64, Date, DateTime, Blob, [T] or Vector(n); for an enum use String";
        if self.cursor.eat("[") {
            let Tok::Upper(name) = *self.cursor.peek() else { return self.cursor.unexpected("a scalar type") };
            let Some(scalar) = Scalar::by_name(name) else {
                return self.cursor.unexpected_with("a scalar type", Some(hint));
            };
            self.cursor.advance();
            self.cursor.expect("]")?;
            return Ok(PropertyType::List(scalar));
        }
        let Tok::Upper(name) = *self.cursor.peek() else {
            return self.cursor.unexpected_with("a parameter type", Some(hint));
        };
        let ty = match (name, Scalar::by_name(name)) {
            (_, Some(scalar)) => PropertyType::Scalar(scalar),
            ("Blob", None) => PropertyType::Blob,
            ("Vector", None) => {
                self.cursor.advance();
                self.cursor.expect("(")?;
                let at = self.cursor.place();
                let length = self.uint()?;
                let length = u32::try_from(length).ok().filter(|length| (1..=i32::MAX as u32).contains(length));
                let Some(length) = length else { return fail(at, "a vector has 1 to 2147483647 dimensions") };
                self.cursor.expect(")")?;
                return Ok(PropertyType::Vector(length));
            }
            _ => return self.cursor.unexpected_with("a parameter type", Some(hint)),
        };
        self.cursor.advance();
        Ok(ty)
    }

    fn read(&mut self) -> Result<ReadAst<'a>, ParseFailure> {
        self.cursor.expect_word("match")?;
        let clauses = self.clause_block()?;
        self.cursor.expect_word("return")?;
        self.cursor.expect("{")?;
        let mut projections = vec![self.projection()?];
        while !self.cursor.is("}") {
            self.cursor.eat(",");
            if !self.cursor.is("}") {
                projections.push(self.projection()?);
            }
        }
        self.cursor.advance();
        let mut order = Vec::new();
        if self.cursor.eat_word("order") {
            self.cursor.expect("{")?;
            order.push(self.ordering()?);
            while self.cursor.eat(",") && !self.cursor.is("}") {
                order.push(self.ordering()?);
            }
            self.cursor.expect("}")?;
        }
        let skip = if self.cursor.eat_word("skip") { Some(self.count()?) } else { None };
        let limit = if self.cursor.eat_word("limit") { Some(self.count()?) } else { None };
        Ok(ReadAst { clauses, projections, order, skip, limit })
    }

    fn count(&mut self) -> Result<CountAst<'a>, ParseFailure> {
        match self.cursor.peek() {
            Tok::Var(_) => Ok(CountAst::Param(self.var()?)),
            _ => Ok(CountAst::Literal(self.uint()?)),
        }
    }

    /// `{ clause … }`, not empty.
    fn clause_block(&mut self) -> Result<Vec<ClauseAst<'a>>, ParseFailure> {
        self.cursor.expect("{")?;
        let mut clauses = Vec::new();
        loop {
            let at = self.cursor.place();
            clauses.push(self.clause()?);
            self.clauses += 1;
            if self.clauses > CLAUSES_MAX {
                return fail(at, format!("a query has at most {CLAUSES_MAX} clauses"));
            }
            if self.cursor.eat("}") {
                return Ok(clauses);
            }
        }
    }

    fn clause(&mut self) -> Result<ClauseAst<'a>, ParseFailure> {
        let Tok::Var(first) = *self.cursor.peek() else {
            if self.cursor.is_word("not") && self.cursor.is_at(1, "{") {
                return self.negation();
            }
            return Ok(ClauseAst::Filter(self.condition()?));
        };
        if self.cursor.is_at(1, ":") {
            return self.binding();
        }
        match *self.cursor.peek_at(1) {
            Tok::Var(_) if self.cursor.is_at(2, ":") => self.traversal(),
            Tok::Punct("<")
                if matches!(self.cursor.peek_at(2), Tok::Lower(_) | Tok::Upper(_)) && self.cursor.is_at(3, ">") =>
            {
                self.traversal()
            }
            Tok::Lower(word) if matches!(self.cursor.peek_at(2), Tok::Var(_) | Tok::Punct("{")) => {
                // An operator only after a parameter, which cannot be the end of an edge.
                let operator = matches!(word, "contains" | "starts_with" | "in") && self.params.contains(&first);
                if operator { Ok(ClauseAst::Filter(self.condition()?)) } else { self.traversal() }
            }
            Tok::Upper(_) => {
                self.cursor.advance();
                self.cursor.unexpected_with(
                    "an edge name or an operator",
                    Some("edge names in traversals begin with a lower-case letter: `dockedAt` for `DockedAt`"),
                )
            }
            _ => Ok(ClauseAst::Filter(self.condition()?)),
        }
    }

    fn negation(&mut self) -> Result<ClauseAst<'a>, ParseFailure> {
        let at = self.cursor.expect_word("not")?;
        self.nested(Self::clause_block)?;
        self.unsupported(FeatureName::Negation, at);
        Ok(ClauseAst::Unsupported)
    }

    fn binding(&mut self) -> Result<ClauseAst<'a>, ParseFailure> {
        let var = self.var()?;
        self.cursor.expect(":")?;
        let type_name = self.type_name()?;
        let mut matches = Vec::new();
        if self.cursor.eat("{") {
            loop {
                let property = self.ident("a property name")?;
                self.cursor.expect(":")?;
                matches.push((property, self.assigned_value()?));
                if !self.cursor.eat(",") || self.cursor.is("}") {
                    break;
                }
            }
            self.cursor.expect("}")?;
        }
        Ok(ClauseAst::Binding { var, type_name, matches })
    }

    fn traversal(&mut self) -> Result<ClauseAst<'a>, ParseFailure> {
        let left = self.var()?;
        let mut edge_var = None;
        if matches!(self.cursor.peek(), Tok::Var(_)) {
            edge_var = Some(self.var()?);
            self.cursor.expect(":")?;
        }
        let shape = if self.cursor.eat("<") { ShapeAst::Undirected } else { ShapeAst::Directed };
        let edge = self.ident("an edge name")?;
        if shape == ShapeAst::Undirected {
            self.cursor.expect(">")?;
        }
        let mut hops = None;
        if self.cursor.is("{") {
            let start = self.cursor.advance().at;
            let min = self.uint()?;
            self.cursor.expect(",")?;
            let max = self.uint()?;
            hops = Some(HopsAst { min, max, at: start.to(self.cursor.expect("}")?) });
        }
        let right = self.var()?;
        Ok(ClauseAst::Traversal(TraversalAst { left, edge_var, edge, shape, hops, right }))
    }

    fn projection(&mut self) -> Result<ProjectionAst<'a>, ParseFailure> {
        let expr = self.expr()?;
        let alias = if self.cursor.eat_word("as") { Some(self.ident("an alias")?) } else { None };
        Ok(ProjectionAst { expr, alias })
    }

    fn ordering(&mut self) -> Result<OrderAst<'a>, ParseFailure> {
        let expr = self.expr()?;
        let direction = if self.cursor.eat_word("desc") {
            Direction::Descending
        } else {
            self.cursor.eat_word("asc");
            Direction::Ascending
        };
        Ok(OrderAst { expr, direction })
    }
}
