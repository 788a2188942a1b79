//! `flight.proto`: what tickets name.

use omnigraph_types::{Columns, Failure, GraphName, QueryRequest, TypeScan};

use super::common::{read_at_from_wire, read_at_to_wire};
use super::field::graph_name;
use super::message::RequestCodec;
use super::query::{query_name_from_wire, query_name_to_wire};
use crate::v1;

impl RequestCodec for v1::TableTicket {
    type Value = (GraphName, TypeScan);

    fn to_wire((graph, scan): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            at: Some(read_at_to_wire(scan.at)),
            r#type: scan.type_name,
            columns: match scan.columns {
                Columns::All => Vec::new(),
                Columns::Named(names) => names,
            },
        }
    }

    fn from_wire(ticket: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("ticket.graph", &ticket.graph)?;
        let scan = TypeScan {
            at: read_at_from_wire("at", ticket.at)?,
            type_name: ticket.r#type,
            columns: if ticket.columns.is_empty() { Columns::All } else { Columns::Named(ticket.columns) },
        };
        Ok((graph, scan))
    }
}

impl RequestCodec for v1::QueryTicket {
    type Value = (GraphName, QueryRequest);

    fn to_wire((graph, query): Self::Value) -> Self {
        Self {
            graph: graph.into(),
            at: Some(read_at_to_wire(query.at)),
            query: query.text,
            query_name: query_name_to_wire(query.name),
            params_json: query.params_json,
        }
    }

    fn from_wire(ticket: Self) -> Result<Self::Value, Failure> {
        let graph = graph_name("ticket.graph", &ticket.graph)?;
        let query = QueryRequest {
            at: read_at_from_wire("at", ticket.at)?,
            text: ticket.query,
            name: query_name_from_wire(ticket.query_name),
            params_json: ticket.params_json,
        };
        Ok((graph, query))
    }
}
