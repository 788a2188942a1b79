//! GetFlightInfo, GetSchema and ListFlights: what can be read, without reading it.

use arrow::datatypes::Schema;
use arrow_flight::{Criteria, FlightDescriptor, FlightEndpoint, FlightInfo, SchemaAsIpc, SchemaResult, Ticket};
use arrow_ipc::writer::IpcWriteOptions;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use omnigraph_call::CallContext;
use omnigraph_engine::{Engine, GraphSnapshot, ListGraphs, PinCommit};
use omnigraph_types::{BranchName, Columns, Failure, GraphName, Problem, QueryRequest, ReadAt, Resource, TypeScan};
use omnigraph_wire::codec::{graph_name, invalid};

use crate::ticket::Read;
use crate::{FlightFault, get, run};

/// Flight's count where it is not known.
const UNKNOWN_COUNT: i64 = -1;

/// Schema, size and ticket of what a descriptor names. The ticket names the commit that is the newest now.
pub(crate) async fn flight_info(
    engine: &Engine,
    context: CallContext,
    descriptor: FlightDescriptor,
) -> Result<FlightInfo, Failure> {
    match Read::from_descriptor(descriptor.clone())? {
        Read::Table(graph, scan) => {
            let snapshot = get::pin(engine, &context, &graph, &scan).await?;
            table_info(&snapshot, &scan, descriptor)
        }
        Read::Query(graph, query) => {
            let open = get::open(engine, &context, Read::Query(graph.clone(), query.clone())).await?;
            let pinned = QueryRequest { at: ReadAt::Commit(open.commit), ..query };
            info(&open.schema, UNKNOWN_COUNT, descriptor, Read::Query(graph, pinned))
        }
    }
}

/// The schema of what a descriptor names.
pub(crate) async fn schema(
    engine: &Engine,
    context: CallContext,
    descriptor: FlightDescriptor,
) -> Result<SchemaResult, Failure> {
    let read = Read::from_descriptor(descriptor)?;
    let schema = match read {
        Read::Table(graph, scan) => get::table_schema(&get::pin(engine, &context, &graph, &scan).await?, &scan)?,
        Read::Query(graph, query) => get::open(engine, &context, Read::Query(graph, query)).await?.schema,
    };
    let encoded = SchemaAsIpc::new(&schema, &IpcWriteOptions::default()).try_into();
    encoded.map_err(|error| FlightFault::Encode(error).failure())
}

/// Every type of the branch `main` of every graph, or of the graph that the criteria name.
pub(crate) async fn list(
    engine: &Engine,
    context: CallContext,
    criteria: Criteria,
) -> Result<impl Stream<Item = Result<FlightInfo, Failure>> + Send + use<>, Failure> {
    let expression = criteria.expression;
    let graphs = if expression.is_empty() {
        let all = ListGraphs { after: None, most: usize::MAX };
        engine.run(&run::caller(&context), all).await?.into_iter().map(|graph| graph.name).collect()
    } else {
        let name = str::from_utf8(&expression).map_err(|_| {
            invalid("criteria.expression", "criteria.expression is not text: give a graph's name, or nothing")
        })?;
        vec![graph_name("criteria.expression", name)?]
    };
    let engine = engine.clone();
    let flights = stream::iter(graphs).then(move |graph| {
        let (engine, context) = (engine.clone(), context.clone());
        async move { graph_flights(&engine, &context, graph).await }
    });
    Ok(flights.map_ok(|infos| stream::iter(infos.into_iter().map(Ok))).try_flatten())
}

async fn graph_flights(engine: &Engine, context: &CallContext, graph: GraphName) -> Result<Vec<FlightInfo>, Failure> {
    let at = ReadAt::Branch(BranchName::Main);
    // The call is about every graph: none of them is recorded as its graph.
    let opened = engine.graph(&graph).await?;
    let snapshot = opened.run(&run::caller(context), PinCommit { at: at.clone() }).await?;
    let infos = snapshot.types().into_iter().map(|type_info| {
        let path = vec![graph.to_string(), BranchName::Main.to_string(), type_info.name.clone()];
        let scan = TypeScan { at: at.clone(), type_name: type_info.name, columns: Columns::All };
        table_info(&snapshot, &scan, FlightDescriptor::new_path(path))
    });
    infos.collect()
}

fn table_info(snapshot: &GraphSnapshot, scan: &TypeScan, descriptor: FlightDescriptor) -> Result<FlightInfo, Failure> {
    let schema = get::table_schema(snapshot, scan)?;
    let found = snapshot.types().into_iter().find(|type_info| type_info.name == scan.type_name);
    let not_found = || {
        let problem = Problem::NotFound { resource: Resource::Type, name: scan.type_name.clone() };
        Failure::new(problem, format!("there is no type {}", scan.type_name))
    };
    let rows = found.ok_or_else(not_found)?.row_count;
    let commit = snapshot.commit();
    let pinned = TypeScan { at: ReadAt::Commit(commit.id), ..scan.clone() };
    let pinned = Read::Table(commit.graph.clone(), pinned);
    info(&schema, i64::try_from(rows).unwrap_or(i64::MAX), descriptor, pinned)
}

fn info(
    schema: &Schema,
    total_records: i64,
    descriptor: FlightDescriptor,
    pinned: Read,
) -> Result<FlightInfo, Failure> {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(pinned.into_ticket_bytes()));
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| FlightFault::Encode(error).failure())?
        .with_descriptor(descriptor)
        .with_endpoint(endpoint)
        .with_total_records(total_records)
        .with_total_bytes(UNKNOWN_COUNT);
    Ok(info)
}
