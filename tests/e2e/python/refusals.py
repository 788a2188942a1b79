"""Loads that must be refused, each reported with every part of its error.

Usage: refusals.py URL
The graph holds airports AAA and BBB.
"""

import sys

import grpc
import pyarrow as pa
import pyarrow.flight as flight
from grpc_status import rpc_status

from support import Contract, call_options, path, put, verdict

MOMENT = pa.array([1_199_145_600_000], pa.timestamp("ms", "UTC"))


def airport(**columns):
    row = {"iata": ["CCC"], "name": ["C"], "country": ["USA"], "latitude": [1.0], "longitude": [2.0]}
    return pa.table({**row, **columns}).to_batches()


def flights(src, dst):
    count = len(src)
    return pa.table(
        {
            "src": src,
            "dst": dst,
            "departed": pa.concat_arrays([MOMENT] * count),
            "delay": pa.array([-5] * count, pa.int32()),
            "distance": pa.array([100] * count, pa.int32()),
        }
    ).to_batches()


def two(first, second):
    """Two batches of one stream."""
    return [*first, *second]


def cases(contract):
    append = call_options("append")
    missing_mode = contract.command(graph="g", branch="main", type="Airport")
    return {
        "column_unknown": (path("Airport"), airport(iato=["CCC"]), append),
        "column_missing": (path("Airport"), [airport()[0].drop_columns(["name"])], append),
        "column_of_another_kind": (path("Airport"), airport(latitude=["north"]), append),
        "value_that_would_change": (
            path("Flight"),
            [flights(["AAA"], ["BBB"])[0].set_column(4, "distance", pa.array([2**40], pa.int64()))],
            append,
        ),
        "null_in_required": (
            path("Airport"),
            two(airport(), airport(iata=["DDD"], name=pa.array([None], pa.string()))),
            append,
        ),
        "edge_to_nowhere": (path("Flight"), flights(["AAA", "BBB"], ["BBB", "NOPE"]), append),
        "key_that_exists": (path("Airport"), airport(iata=["BBB"]), append),
        "key_twice_in_one_load": (path("Airport"), two(airport(), airport()), append),
        "mode_header_missing": (path("Airport"), airport(), call_options()),
        "mode_header_unknown": (path("Airport"), airport(), call_options("upsert")),
        "mode_of_command_missing": (missing_mode, airport(), call_options()),
        "path_too_short": (flight.FlightDescriptor.for_path("g", "Airport"), airport(), append),
        "type_unknown": (path("Airprt"), airport(), append),
        "graph_unknown": (path("Airport", graph="nope"), airport(), append),
        "branch_unknown": (path("Airport", branch="nope"), airport(), append),
        "end_mark_missing": (path("Airport"), airport(), append, None),
        "header_unknown": (path("Airport"), airport(), call_options("append", x_omnigraph_dry_run="true")),
        "header_of_another_value": (path("Airport"), airport(), call_options("append", x_omnigraph_validate_only="yes")),
        "head_not_expected": (
            path("Airport"),
            airport(),
            call_options("append", x_omnigraph_expected_head="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        ),
    }


def refused_load(client, contract, descriptor, batches, options, mark=b"end"):
    try:
        put(client, descriptor, batches, options, mark)
    except (flight.FlightError, pa.ArrowException) as error:
        info = getattr(error, "extra_info", None)
        answer = contract.status(info) if info else {}
        return {**answer, "exception": type(error).__name__, "text": str(error)}
    return {"exception": None}


def refused_unary(contract):
    """A native call's error, as grpcio and grpcio-status read it."""
    request, response = (contract.message(f"omnigraph.v1.GetGraph{part}") for part in ("Request", "Response"))
    call = contract.channel.unary_unary(
        "/omnigraph.v1.GraphService/GetGraph",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
    try:
        call(request(graph="nope"))
    except grpc.RpcError as error:
        trailers = {name: value for name, value in error.trailing_metadata() if isinstance(value, str)}
        answer = contract.status(rpc_status.from_call(error).SerializeToString())
        return {**answer, "exception": error.code().name, "text": error.details(), "trailers": trailers}
    return {"exception": None}


def main(url):
    client, contract = flight.connect(url), Contract(url)
    answers = {name: refused_load(client, contract, *case) for name, case in cases(contract).items()}
    verdict({"loads": answers, "unary": refused_unary(contract)})


main(*sys.argv[1:])
