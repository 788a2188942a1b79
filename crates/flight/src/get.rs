//! DoGet: the rows of a table or of a query's result, of one commit from the first to the last.

use arrow_flight::FlightData;
use futures::StreamExt;
use futures::stream::BoxStream;
use omnigraph_engine::{BatchStream, Engine, GraphSnapshot, QueryRequest};
use omnigraph_types::Failure;
use tonic::{Request, Status};

use arrow::datatypes::SchemaRef;
use std::sync::Arc;

use crate::ticket::{Read, TableRead};
use crate::{CallContext, convert, encode};

/// The answer to a DoGet.
pub(crate) type Rows = BoxStream<'static, Result<FlightData, Status>>;

/// A read that is ready to stream.
pub(crate) struct OpenRead {
    pub(crate) snapshot: GraphSnapshot,
    pub(crate) schema: SchemaRef,
    pub(crate) batches: BatchStream,
}

/// Reads what a ticket names.
pub(crate) async fn get(engine: &Engine, request: Request<arrow_flight::Ticket>) -> Result<Rows, Failure> {
    let context = CallContext::of(&request)?;
    let read = Read::from_ticket_bytes(&request.get_ref().ticket)?;
    let open = open(engine, &context, &read).await?;
    Ok(encode::messages(&open.schema, open.batches).boxed())
}

/// Pins the commit that a read names.
pub(crate) async fn pin(engine: &Engine, context: &CallContext, read: &Read) -> Result<GraphSnapshot, Failure> {
    let (graph, at) = read.place();
    context.note_graph(graph.as_str());
    engine.graph(graph).await?.snapshot(at).await
}

/// Opens a read: its schema, and its rows as they are asked for.
pub(crate) async fn open(engine: &Engine, context: &CallContext, read: &Read) -> Result<OpenRead, Failure> {
    let snapshot = pin(engine, context, read).await?;
    match read {
        Read::Table(table) => {
            let schema = table_schema(&snapshot, table)?;
            let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
            let batches = snapshot.scan_type(&table.type_name, Some(columns)).await?;
            Ok(OpenRead { snapshot, schema, batches })
        }
        Read::Query(query) => {
            let request = QueryRequest {
                text: query.query.clone(),
                name: convert::query_name(query.query_name.clone()),
                params_json: query.params_json.clone(),
            };
            let result = snapshot.query(request).await?;
            Ok(OpenRead { snapshot, schema: result.schema, batches: result.batches })
        }
    }
}

/// The columns of a table read: those that it names, in its order, else all but blobs.
pub(crate) fn table_schema(snapshot: &GraphSnapshot, table: &TableRead) -> Result<SchemaRef, Failure> {
    use arrow::datatypes::{DataType, Field, Schema};
    let whole = snapshot.arrow_schema(&table.type_name)?;
    let fields = if table.columns.is_empty() {
        let plain = whole.fields().iter().filter(|field| field.data_type() != &DataType::LargeBinary);
        plain.cloned().collect::<Vec<_>>()
    } else {
        let named = |name: &String| match whole.column_with_name(name) {
            Some((index, _)) => Ok(Arc::clone(&whole.fields()[index])),
            None => Err(no_column(
                &table.type_name,
                name,
                whole.fields().iter().map(|field: &Arc<Field>| field.name().as_str()),
            )),
        };
        if let Some((place, name)) =
            table.columns.iter().enumerate().find(|(place, name)| table.columns[..*place].contains(*name))
        {
            let message = format!("columns names {name:?} twice, also at place {}: name each column once", place + 1);
            return Err(convert::invalid("columns", message));
        }
        table.columns.iter().map(named).collect::<Result<_, Failure>>()?
    };
    Ok(Arc::new(Schema::new(fields)))
}

fn no_column<'a>(type_name: &str, name: &str, columns: impl Iterator<Item = &'a str>) -> Failure {
    let columns = columns.collect::<Vec<_>>().join(", ");
    convert::invalid("ticket.columns", format!("type {type_name} has no column {name:?}: its columns are {columns}"))
}
