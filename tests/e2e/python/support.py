"""The parts that the programs of the tests share: messages by reflection, errors with all their details, and verdicts as JSON.

Messages of the contract are found by server reflection, as a client without generated code would.
"""

import json

import grpc
import pyarrow as pa
import pyarrow.flight as flight
from google.protobuf import any_pb2, json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

GRAPH = "g"
STANDARD_DETAILS = {
    message.DESCRIPTOR.full_name: message
    for message in (
        error_details_pb2.ErrorInfo,
        error_details_pb2.BadRequest,
        error_details_pb2.ResourceInfo,
        error_details_pb2.PreconditionFailure,
        error_details_pb2.QuotaFailure,
        error_details_pb2.RetryInfo,
        error_details_pb2.Help,
    )
}


class Contract:
    """The contract's messages, as the server itself describes them."""

    def __init__(self, url):
        self.channel = grpc.insecure_channel(url.removeprefix("grpc://"))
        self.pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))

    def message(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))

    def detail(self, packed):
        name = packed.type_url.rsplit("/", 1)[-1]
        message = STANDARD_DETAILS.get(name) or self.message(name)
        return name, json_format.MessageToDict(message.FromString(packed.value), preserving_proto_field_name=True)

    def status(self, encoded):
        """A google.rpc.Status as code, message and details by name."""
        status = status_pb2.Status.FromString(encoded)
        details = dict(self.detail(packed) for packed in status.details)
        info = details.get("google.rpc.ErrorInfo", {})
        return {
            "code": status.code,
            "message": status.message,
            "reason": info.get("reason"),
            "metadata": info.get("metadata"),
            "details": details,
        }

    def receipt(self, encoded):
        result = self.message("omnigraph.v1.LoadResult").FromString(encoded)
        return json_format.MessageToDict(result, preserving_proto_field_name=True)["receipt"]

    def command(self, **fields):
        """The cmd of a DoPut: a LoadCommand in an Any."""
        packed = any_pb2.Any()
        packed.Pack(self.message("omnigraph.v1.LoadCommand")(**fields))
        return flight.FlightDescriptor.for_command(packed.SerializeToString())

    def table_ticket(self, name):
        ticket = self.message("omnigraph.v1.Ticket")()
        ticket.table.graph = GRAPH
        ticket.table.type = name
        return flight.Ticket(ticket.SerializeToString())


def path(name, graph=GRAPH, branch="main"):
    return flight.FlightDescriptor.for_path(graph, branch, name)


def call_options(mode=None, compression=None, **headers):
    """Call headers and IPC options of one DoPut."""
    pairs = [(b"x-omnigraph-mode", mode.encode())] if mode else []
    pairs += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return flight.FlightCallOptions(headers=pairs, write_options=pa.ipc.IpcWriteOptions(compression=compression))


def put(client, descriptor, batches, options, mark=b"end"):
    """Sends batches as one stream, ends it, with a mark unless it is None, and returns the last PutResult's metadata."""
    batches = list(batches)
    writer, reader = client.do_put(descriptor, batches[0].schema, options)
    for batch in batches:
        writer.write_batch(batch)
    if mark is not None:
        writer.write_metadata(mark)
    writer.done_writing()
    last = None
    while (result := reader.read()) is not None:
        last = result
    writer.close()
    return last.to_pybytes()


def get(client, ticket):
    return client.do_get(ticket).read_all()


def verdict(value):
    print(json.dumps(value))
