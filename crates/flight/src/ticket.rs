//! What descriptors and tickets of Flight calls name: a load, a table or a query.
//!
//! A `cmd` is a message of the contract packed in `google.protobuf.Any`. A ticket is the bytes of an `omnigraph.v1.Ticket`.

use arrow_flight::FlightDescriptor;
use arrow_flight::flight_descriptor::DescriptorType;
use omnigraph_call::{OwnHeaders, not_offered};
use omnigraph_types::{
    BranchName, Capture, Columns, Failure, FeatureName, GraphName, LoadRequest, QueryRequest, ReadAt, TypeLoad,
    TypeScan,
};
use omnigraph_wire::RequestCodec;
use omnigraph_wire::codec::{branch_name, graph_name};
use omnigraph_wire::v1 as wire;
use prost::Message;
use prost_types::Any;

use crate::FlightFault;
use crate::load_headers::{LoadHeaders, StreamEnd};

/// Type URLs of Flight SQL's commands begin with this after their host.
const FLIGHT_SQL_PREFIX: &str = "arrow.flight.protocol.sql.";

/// A DoPut that is its own commit.
#[derive(Debug)]
pub(crate) struct PutCommand {
    pub(crate) graph: GraphName,
    pub(crate) put: TypeLoad,
    pub(crate) end: StreamEnd,
}

/// What a DoGet reads, and of which graph.
#[derive(Debug, Clone)]
pub(crate) enum Read {
    /// One type's rows.
    Table(GraphName, TypeScan),
    /// A query's result.
    Query(GraphName, QueryRequest),
}

/// A descriptor's content.
enum Target {
    Path { graph: GraphName, branch: BranchName, type_name: String },
    Command(Any),
}

fn target(descriptor: Option<FlightDescriptor>) -> Result<Target, Failure> {
    let descriptor = descriptor.ok_or_else(|| FlightFault::NoDescriptor.failure())?;
    match descriptor.r#type() {
        DescriptorType::Path => {
            let parts = descriptor.path.len();
            let [graph, branch, type_name] =
                <[String; 3]>::try_from(descriptor.path).map_err(|_| FlightFault::BadPath { parts }.failure())?;
            let graph = graph_name("descriptor.path[0]", &graph)?;
            let branch = branch_name("descriptor.path[1]", &branch)?;
            Ok(Target::Path { graph, branch, type_name })
        }
        DescriptorType::Cmd => Ok(Target::Command(command(&descriptor.cmd)?)),
        DescriptorType::Unknown => Err(FlightFault::NoDescriptor.failure()),
    }
}

fn command(bytes: &[u8]) -> Result<Any, Failure> {
    let any = Any::decode(bytes).ok().filter(|any| !any.type_url.is_empty());
    let any = any.ok_or_else(|| FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure())?;
    if type_name(&any).starts_with(FLIGHT_SQL_PREFIX) {
        let instead = "load with a path [graph, branch, type] and the header x-omnigraph-mode, and read with an omnigraph.v1.QueryTicket";
        return Err(not_offered(FeatureName::FlightSql, instead));
    }
    Ok(any)
}

const COMMAND_EXPECTED: &str =
    "give a google.protobuf.Any that holds an omnigraph.v1.LoadCommand (to load), TableTicket or QueryTicket (to read)";
const TICKET_EXPECTED: &str = "give the ticket of a GetFlightInfo, or the bytes of an omnigraph.v1.Ticket";

fn type_name(any: &Any) -> &str {
    any.type_url.rsplit('/').next().unwrap_or_default()
}

fn unpack<M: Message + Default>(any: &Any) -> Result<M, Failure> {
    let unreadable = FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED };
    M::decode(any.value.as_slice()).map_err(|_| unreadable.failure())
}

impl PutCommand {
    /// What a DoPut's first descriptor and its call headers ask for.
    pub(crate) fn parse(descriptor: Option<FlightDescriptor>, headers: OwnHeaders) -> Result<Self, Failure> {
        match target(descriptor)? {
            Target::Path { graph, branch, type_name } => {
                let LoadHeaders { mode, options, end } = LoadHeaders::of_path(headers)?;
                let put =
                    TypeLoad { type_name, load: LoadRequest { branch, mode, options }, capture: Capture::NotWanted };
                Ok(Self { graph, put, end })
            }
            Target::Command(any) if type_name(&any) == "omnigraph.v1.LoadCommand" => {
                Self::from_wire(unpack(&any)?, LoadHeaders::of_command(headers)?)
            }
            Target::Command(_) => Err(FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure()),
        }
    }

    fn from_wire(command: wire::LoadCommand, end: StreamEnd) -> Result<Self, Failure> {
        if !command.load_id.is_empty() || !command.part_id.is_empty() {
            let instead = "leave load_id and part_id out, so that the stream is its own commit";
            return Err(not_offered(FeatureName::LoadsInParts, instead));
        }
        let (graph, put) = wire::LoadCommand::from_wire(command)?;
        Ok(Self { graph, put, end })
    }
}

impl Read {
    /// What a descriptor of GetFlightInfo or GetSchema names.
    pub(crate) fn from_descriptor(descriptor: FlightDescriptor) -> Result<Self, Failure> {
        match target(Some(descriptor))? {
            Target::Path { graph, branch, type_name } => {
                let scan = TypeScan { at: ReadAt::Branch(branch), type_name, columns: Columns::All };
                Ok(Self::Table(graph, scan))
            }
            Target::Command(any) => match type_name(&any) {
                "omnigraph.v1.TableTicket" => Self::from_table(unpack(&any)?),
                "omnigraph.v1.QueryTicket" => Self::from_query(unpack(&any)?),
                "omnigraph.v1.Ticket" => Self::from_ticket(unpack(&any)?),
                _ => Err(FlightFault::Unreadable { field: "cmd", expected: COMMAND_EXPECTED }.failure()),
            },
        }
    }

    /// What the bytes of a DoGet's ticket name.
    pub(crate) fn from_ticket_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        let unreadable = || FlightFault::Unreadable { field: "ticket", expected: TICKET_EXPECTED }.failure();
        Self::from_ticket(wire::Ticket::decode(bytes).map_err(|_| unreadable())?)
    }

    fn from_ticket(ticket: wire::Ticket) -> Result<Self, Failure> {
        use wire::ticket::Ticket;
        match ticket.ticket {
            Some(Ticket::Table(table)) => Self::from_table(table),
            Some(Ticket::Query(query)) => Self::from_query(query),
            Some(Ticket::Export(_)) => {
                let instead = "read the types one by one with TableTickets at one commit";
                Err(not_offered(FeatureName::Exports, instead))
            }
            None => Err(FlightFault::Unreadable { field: "ticket", expected: TICKET_EXPECTED }.failure()),
        }
    }

    fn from_table(ticket: wire::TableTicket) -> Result<Self, Failure> {
        let (graph, scan) = wire::TableTicket::from_wire(ticket)?;
        Ok(Self::Table(graph, scan))
    }

    fn from_query(ticket: wire::QueryTicket) -> Result<Self, Failure> {
        let (graph, query) = wire::QueryTicket::from_wire(ticket)?;
        Ok(Self::Query(graph, query))
    }

    /// The bytes of a ticket for this read.
    pub(crate) fn into_ticket_bytes(self) -> Vec<u8> {
        use wire::ticket::Ticket;
        let ticket = match self {
            Self::Table(graph, scan) => Ticket::Table(wire::TableTicket::to_wire((graph, scan))),
            Self::Query(graph, query) => Ticket::Query(wire::QueryTicket::to_wire((graph, query))),
        };
        wire::Ticket { ticket: Some(ticket) }.encode_to_vec()
    }
}

#[cfg(test)]
#[path = "ticket/tests.rs"]
mod tests;
