//! `query.proto`: queries and what precedes their rows.

use omnigraph_types::{Failure, GraphName, QueryHeader, QueryName, QueryRequest, ResultFormat};

use super::common::{read_at_from_wire, read_at_to_wire};
use super::field::{all, decoded, each, graph_name, invalid};
use super::message::{AnswerCodec, MalformedAnswer, RequestCodec};
use crate::v1;

/// Encodes which query of a text runs.
pub(super) fn query_name_to_wire(name: QueryName) -> String {
    match name {
        QueryName::Only => String::new(),
        QueryName::Named(name) => name,
    }
}

/// Decodes which query of a text runs.
pub(super) fn query_name_from_wire(name: String) -> QueryName {
    if name.is_empty() { QueryName::Only } else { QueryName::Named(name) }
}

fn format_to_wire(format: ResultFormat) -> i32 {
    let format = match format {
        ResultFormat::Rows => v1::ResultFormat::Rows,
        ResultFormat::ArrowIpc => v1::ResultFormat::ArrowIpc,
    };
    format.into()
}

fn format_from_wire(number: i32) -> Result<ResultFormat, Failure> {
    match v1::ResultFormat::try_from(number) {
        Ok(v1::ResultFormat::Unspecified | v1::ResultFormat::Rows) => Ok(ResultFormat::Rows),
        Ok(v1::ResultFormat::ArrowIpc) => Ok(ResultFormat::ArrowIpc),
        Err(_) => Err(invalid("format", format!("format is {number}: use rows or arrow_ipc"))),
    }
}

impl RequestCodec for v1::QueryRequest {
    type Value = (GraphName, QueryRequest, ResultFormat);

    fn to_wire((graph, query, format): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            at: Some(read_at_to_wire(query.at)),
            query: query.text,
            query_name: query_name_to_wire(query.name),
            params_json: query.params_json,
            format: format_to_wire(format),
        }
    }

    fn from_wire(request: Self) -> Result<Self::Value, Failure> {
        let format = format_from_wire(request.format)?;
        let graph = graph_name("graph", &request.graph)?;
        let query = QueryRequest {
            at: read_at_from_wire("at", request.at)?,
            text: request.query,
            name: query_name_from_wire(request.query_name),
            params_json: request.params_json,
        };
        Ok((graph, query, format))
    }
}

impl AnswerCodec for v1::QueryHeader {
    type Value = QueryHeader;

    fn to_wire(header: QueryHeader) -> Self {
        Self {
            columns: each(header.columns),
            commit: Some(v1::Commit::to_wire(header.commit)),
            query_name: query_name_to_wire(header.name),
        }
    }

    fn from_wire(header: Self) -> Result<QueryHeader, MalformedAnswer> {
        Ok(QueryHeader {
            columns: all(header.columns)?,
            commit: decoded("QueryHeader.commit", header.commit)?,
            name: query_name_from_wire(header.query_name),
        })
    }
}
