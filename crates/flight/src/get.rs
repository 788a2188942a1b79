//! DoGet: the rows of a table or of a query's result, of one commit from the first to the last.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::FlightData;
use futures::Stream;
use omnigraph_call::CallContext;
use omnigraph_engine::{BatchStream, Engine, GraphSnapshot, PinCommit, Scan};
use omnigraph_types::{Columns, CommitId, Failure, GraphName, TypeScan};
use omnigraph_wire::codec::invalid;

use crate::ticket::Read;
use crate::{encode, run};

/// A read that is ready to stream.
pub(crate) struct OpenRead {
    pub(crate) commit: CommitId,
    pub(crate) schema: SchemaRef,
    pub(crate) batches: BatchStream,
}

/// Reads what a ticket names.
pub(crate) async fn get(
    engine: &Engine,
    context: CallContext,
    ticket: arrow_flight::Ticket,
) -> Result<impl Stream<Item = Result<FlightData, Failure>> + Send + use<>, Failure> {
    let read = Read::from_ticket_bytes(&ticket.ticket)?;
    let open = open(engine, &context, read).await?;
    Ok(encode::messages(&open.schema, open.batches))
}

/// Pins the commit that a scan reads.
pub(crate) async fn pin(
    engine: &Engine,
    context: &CallContext,
    graph: &GraphName,
    scan: &TypeScan,
) -> Result<GraphSnapshot, Failure> {
    run::on_graph(engine, context, graph, PinCommit { at: scan.at.clone() }).await
}

/// Opens a read: its schema, and its rows as the client takes them.
pub(crate) async fn open(engine: &Engine, context: &CallContext, read: Read) -> Result<OpenRead, Failure> {
    match read {
        Read::Table(graph, scan) => {
            let snapshot = pin(engine, context, &graph, &scan).await?;
            let schema = table_schema(&snapshot, &scan)?;
            let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
            let scan = Scan { type_name: scan.type_name, columns: Columns::Named(columns) };
            let batches = snapshot.run(&run::caller(context), scan).await?;
            Ok(OpenRead { commit: snapshot.commit().id, schema, batches })
        }
        Read::Query(graph, query) => {
            let result = run::on_graph(engine, context, &graph, query).await?;
            Ok(OpenRead { commit: result.commit.id, schema: result.schema, batches: result.batches })
        }
    }
}

/// The columns of a scan: those that it names, in its order, else all but blobs.
pub(crate) fn table_schema(snapshot: &GraphSnapshot, scan: &TypeScan) -> Result<SchemaRef, Failure> {
    let whole = snapshot.arrow_schema(&scan.type_name)?;
    let fields: Vec<Arc<Field>> = match &scan.columns {
        Columns::All => {
            whole.fields().iter().filter(|field| field.data_type() != &DataType::LargeBinary).cloned().collect()
        }
        Columns::Named(names) => named_columns(&whole, &scan.type_name, names)?,
    };
    Ok(Arc::new(Schema::new(fields)))
}

fn named_columns(whole: &Schema, type_name: &str, names: &[String]) -> Result<Vec<Arc<Field>>, Failure> {
    if let Some((place, name)) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(*name)) {
        let message = format!("columns names {name:?} twice, also at place {}: name each column once", place + 1);
        return Err(invalid("columns", message));
    }
    let field = |name: &String| match whole.column_with_name(name) {
        Some((index, _)) => Ok(Arc::clone(&whole.fields()[index])),
        None => Err(no_column(type_name, name, whole.fields().iter().map(|field| field.name().as_str()))),
    };
    names.iter().map(field).collect()
}

fn no_column<'a>(type_name: &str, name: &str, columns: impl Iterator<Item = &'a str>) -> Failure {
    let columns = columns.collect::<Vec<_>>().join(", ");
    invalid("ticket.columns", format!("type {type_name} has no column {name:?}: its columns are {columns}"))
}
