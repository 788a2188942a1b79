//! Syntax to checked IR: names resolved against the schema, types and directions decided.
//!
//! All findings are collected; the IR is made only if there is none. Variables are collected from the whole pattern before anything uses
//! them, so the order of clauses means nothing.

mod context;
mod expr;
mod pattern;
mod result;

use std::collections::BTreeSet;

use omnigraph_types::{FeatureName, Span};

use crate::code::Code;
use crate::error::LangError;
use crate::findings::{At, Findings};
use crate::query::ast::{BodyAst, ParamAst, QueryAst, ReadAst};
use crate::query::check::context::Checker;
use crate::query::ir::{CheckedQuery, Param, ReadQuery};
use crate::query::parse::parse_queries;
use crate::schema::{PropertyType, Schema};
use crate::text::clip;

/// A parameter name that requests keep for themselves.
const RESERVED_PARAM: &str = "__now";

/// Parses the text and checks the query of this name; without a name, the text must hold exactly one query. Time and memory follow the
/// length of the text, which the caller bounds.
pub fn check_query(text: &str, query_name: Option<&str>, schema: &Schema) -> Result<CheckedQuery, LangError> {
    let queries =
        parse_queries(text).map_err(|failure| LangError::Query { diagnostics: vec![failure.diagnostic(text)] })?;
    let mut findings = Findings::new(text);
    let mut names = BTreeSet::new();
    for query in &queries {
        if !names.insert(query.name.text) {
            findings.add(Code::DuplicateName, query.name.at, format!("two queries are called `{}`", query.name.text));
        }
    }
    if !findings.is_empty() {
        return Err(LangError::Query { diagnostics: findings.into_sorted() });
    }
    let query = select(&queries, query_name)?;
    Checker::new(findings, schema).query(query, text)
}

/// The names of the queries that the text defines, in order.
pub fn query_names(text: &str) -> Result<Vec<String>, LangError> {
    let queries =
        parse_queries(text).map_err(|failure| LangError::Query { diagnostics: vec![failure.diagnostic(text)] })?;
    Ok(queries.iter().map(|query| query.name.text.to_owned()).collect())
}

fn select<'q, 'a>(queries: &'q [QueryAst<'a>], name: Option<&str>) -> Result<&'q QueryAst<'a>, LangError> {
    let defined = || queries.iter().map(|query| query.name.text.to_owned()).collect();
    match name {
        Some(name) => queries
            .iter()
            .find(|query| query.name.text == name)
            .ok_or_else(|| LangError::QueryUnknown { name: clip(name), defined: defined() }),
        None => match queries {
            [query] => Ok(query),
            _ => Err(LangError::QueryNotNamed { defined: defined() }),
        },
    }
}

impl<'a> Checker<'a, '_> {
    fn query(mut self, ast: &QueryAst<'a>, text: &'a str) -> Result<CheckedQuery, LangError> {
        let params = self.declare_params(&ast.params);
        let read = match &ast.body {
            BodyAst::Read(read) => {
                for param in ast.params.iter().filter(|param| param.ty == PropertyType::Blob) {
                    self.error(Code::BlobInRead, param.name.at, "a read cannot take a Blob parameter");
                }
                self.read(read)
            }
            BodyAst::Mutation { mixed } => {
                if let Some(at) = mixed {
                    let message = "a query either deletes, or inserts and updates; split it in two";
                    self.error(Code::MixedMutation, *at, message);
                }
                None
            }
        };
        if !self.findings.is_empty() {
            return Err(LangError::Query { diagnostics: self.findings.into_sorted() });
        }
        let mut unsupported: Vec<(FeatureName, At)> =
            ast.unsupported.iter().map(|use_| (use_.feature, use_.at)).collect();
        unsupported.extend(&self.unsupported);
        let first = unsupported.into_iter().min_by_key(|(_, at)| at.start);
        if let Some((feature, at)) = first {
            let span = Span::of(text, at.start, at.end);
            return Err(LangError::Unimplemented { feature, span });
        }
        let Some(read) = read else {
            // A body without a read is a mutation, which is in the list above.
            return Err(LangError::Query { diagnostics: self.findings.into_sorted() });
        };
        Ok(CheckedQuery {
            name: ast.name.text.to_owned(),
            description: ast.description.clone(),
            instruction: ast.instruction.clone(),
            params,
            read,
        })
    }

    fn declare_params(&mut self, asts: &[ParamAst<'a>]) -> Vec<Param> {
        let mut params = Vec::with_capacity(asts.len());
        for ast in asts {
            let name = ast.name;
            if name.text == RESERVED_PARAM {
                self.error(
                    Code::DuplicateName,
                    name.at,
                    format!("`${RESERVED_PARAM}` is reserved; choose another name"),
                );
            }
            let param = Param { name: name.text.to_owned(), ty: ast.ty.clone(), nullability: ast.nullability };
            params.push(param.clone());
            if self.params.insert(name.text, param).is_some() {
                self.error(Code::DuplicateName, name.at, format!("two parameters are called `${}`", name.text));
            }
        }
        params
    }

    /// The body of a read; `None` after findings.
    fn read(&mut self, ast: &ReadAst<'a>) -> Option<ReadQuery> {
        self.pattern(&ast.clauses);
        let result = self.result(ast)?;
        Some(ReadQuery {
            variables: std::mem::take(&mut self.variables),
            traversals: std::mem::take(&mut self.traversals),
            filters: std::mem::take(&mut self.filters),
            projections: result.projections,
            grouping: result.grouping,
            order: result.order,
            tie_break: result.tie_break,
            skip: result.skip,
            limit: result.limit,
        })
    }
}

#[cfg(test)]
mod tests;
