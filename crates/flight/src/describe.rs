//! GetFlightInfo, GetSchema and ListFlights: what can be read, without reading it.

use arrow::datatypes::Schema;
use arrow_flight::{Criteria, FlightDescriptor, FlightEndpoint, FlightInfo, SchemaAsIpc, SchemaResult, Ticket};
use arrow_ipc::writer::IpcWriteOptions;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use omnigraph_engine::{Engine, GraphSnapshot, ReadAt};
use omnigraph_types::{BranchName, Failure, GraphName, Problem, Resource};
use prost::Message;
use tonic::{Request, Status};

use crate::ticket::{Read, TableRead};
use crate::{CallContext, FlightFault, convert, get, refuse};

/// The answer to ListFlights.
pub(crate) type Flights = BoxStream<'static, Result<FlightInfo, Status>>;

/// What Flight says where a count is not known.
const UNKNOWN_COUNT: i64 = -1;

/// Schema, size and ticket of what a descriptor names. The ticket is of the commit that was the newest now.
pub(crate) async fn flight_info(engine: &Engine, request: Request<FlightDescriptor>) -> Result<FlightInfo, Failure> {
    let context = CallContext::of(&request)?;
    let descriptor = request.into_inner();
    let read = Read::from_descriptor(descriptor.clone())?;
    match &read {
        Read::Table(table) => {
            let snapshot = get::pin(engine, &context, &read).await?;
            table_info(&snapshot, table, descriptor)
        }
        Read::Query(_) => {
            let open = get::open(engine, &context, &read).await?;
            info(&open.schema, UNKNOWN_COUNT, descriptor, &read.pinned_ticket(open.snapshot.commit().id))
        }
    }
}

/// The schema of what a descriptor names.
pub(crate) async fn schema(engine: &Engine, request: Request<FlightDescriptor>) -> Result<SchemaResult, Failure> {
    let context = CallContext::of(&request)?;
    let read = Read::from_descriptor(request.into_inner())?;
    let schema = match &read {
        Read::Table(table) => get::table_schema(&get::pin(engine, &context, &read).await?, table)?,
        Read::Query(_) => get::open(engine, &context, &read).await?.schema,
    };
    let encoded = SchemaAsIpc::new(&schema, &IpcWriteOptions::default()).try_into();
    encoded.map_err(|error| FlightFault::Encode(error).failure())
}

/// Every type of the branch `main` of every graph, or of the graph that the criteria name.
pub(crate) async fn list(engine: &Engine, request: Request<Criteria>) -> Result<Flights, Failure> {
    let expression = request.into_inner().expression;
    let graphs = if expression.is_empty() {
        engine.list_graphs().await?.into_iter().map(|graph| graph.name).collect()
    } else {
        let name = str::from_utf8(&expression).map_err(|_| {
            convert::invalid("criteria.expression", "criteria.expression is not text: give a graph's name, or nothing")
        })?;
        vec![convert::graph_name("criteria.expression", name)?]
    };
    let engine = engine.clone();
    let flights = stream::iter(graphs).then(move |graph| {
        let engine = engine.clone();
        async move { graph_flights(&engine, graph).await }
    });
    Ok(flights.map_ok(|infos| stream::iter(infos.into_iter().map(Ok))).try_flatten().map_err(refuse).boxed())
}

async fn graph_flights(engine: &Engine, graph: GraphName) -> Result<Vec<FlightInfo>, Failure> {
    let at = ReadAt::Branch(BranchName::Main);
    let snapshot = engine.graph(&graph).await?.snapshot(&at).await?;
    let infos = snapshot.types().into_iter().map(|type_info| {
        let path = vec![graph.to_string(), BranchName::Main.to_string(), type_info.name.clone()];
        let table = TableRead { graph: graph.clone(), at: at.clone(), type_name: type_info.name, columns: Vec::new() };
        table_info(&snapshot, &table, FlightDescriptor::new_path(path))
    });
    infos.collect()
}

fn table_info(
    snapshot: &GraphSnapshot,
    table: &TableRead,
    descriptor: FlightDescriptor,
) -> Result<FlightInfo, Failure> {
    let schema = get::table_schema(snapshot, table)?;
    let found = snapshot.types().into_iter().find(|type_info| type_info.name == table.type_name);
    let not_found = || {
        let problem = Problem::NotFound { resource: Resource::Type, name: table.type_name.clone() };
        Failure::new(problem, format!("there is no type {}", table.type_name))
    };
    let rows = found.ok_or_else(not_found)?.row_count;
    let ticket = Read::Table(table.clone()).pinned_ticket(snapshot.commit().id);
    info(&schema, i64::try_from(rows).unwrap_or(i64::MAX), descriptor, &ticket)
}

fn info(
    schema: &Schema,
    total_records: i64,
    descriptor: FlightDescriptor,
    ticket: &omnigraph_wire::v1::Ticket,
) -> Result<FlightInfo, Failure> {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket.encode_to_vec()));
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| FlightFault::Encode(error).failure())?
        .with_descriptor(descriptor)
        .with_endpoint(endpoint)
        .with_total_records(total_records)
        .with_total_bytes(UNKNOWN_COUNT);
    Ok(info)
}
