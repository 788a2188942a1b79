"""Flight by reflection alone, as grpcurl calls it: the server describes the service and its messages, and they are what it speaks.

Usage: reflected.py URL
"""

import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from support import GRAPH, Contract, verdict

SERVICE = "arrow.flight.protocol.FlightService"


def main(url):
    contract = Contract(url)
    service = contract.pool.FindServiceByName(SERVICE)

    def call(name, **fields):
        method = service.methods_by_name[name]
        request, answer = contract.message(method.input_type.full_name), contract.message(method.output_type.full_name)
        kind = contract.channel.unary_stream if method.server_streaming else contract.channel.unary_unary
        send = kind(f"/{SERVICE}/{name}", request_serializer=request.SerializeToString, response_deserializer=answer.FromString)
        return send(request(**fields))

    descriptor = {"type": "PATH", "path": [GRAPH, "main", "Airport"]}
    info = call("GetFlightInfo", **descriptor)
    data = list(call("DoGet", ticket=info.endpoint[0].ticket.ticket))
    listed = list(call("ListFlights"))
    verdict(
        {
            "methods": [method.name for method in service.methods],
            "records": info.total_records,
            "path": list(info.flight_descriptor.path),
            "same_schema": info.schema == call("GetSchema", **descriptor).schema,
            "schema_bytes": len(info.schema),
            "messages_with_rows": sum(1 for message in data if message.data_body),
            "listed": sorted("/".join(one.flight_descriptor.path) for one in listed),
            "unknown_fields": sum(len(UnknownFieldSet(message)) for message in [info, *data, *listed]),
        }
    )


main(sys.argv[1])
