"""Loads airports and generated flights with pyarrow.flight, reads them back, and reports whether they are the same multiset of rows.

Usage: flights.py URL AIRPORTS_CSV
"""

import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.flight as flight

from support import GRAPH, Contract, call_options, get, path, put, verdict

FLIGHTS = 20_000
BATCH_ROWS = 3_000
FLIGHT_COLUMNS = ["src", "dst", "departed", "delay", "distance"]


def airports(file):
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() for name in ("iata", "name", "city", "state", "country")},
        strings_can_be_null=True,
        null_values=[""],
    )
    return pa.csv.read_csv(file, convert_options=convert)


def flights(codes, rows, seed):
    """Rows that look at random and are the same each time. Some are there twice, and many delays are negative."""
    numbers = pa.array(range(seed, seed + rows), pa.int64())
    mixed = pa.array([(number // 2 * 2_654_435_761) % 4_294_967_291 for number in numbers.to_pylist()], pa.int64())
    part = lambda divisor, size: pa.array([value // divisor % size for value in mixed.to_pylist()], pa.int64())
    pick = lambda divisor: codes.take(part(divisor, len(codes)))
    departed = pc.add(pc.multiply(part(1, 527_040), 60_000), 1_199_145_600_000)
    return pa.table(
        {
            "departed": departed.cast(pa.timestamp("ms", "UTC")),
            "delay": pc.subtract(part(7, 300), 60).cast(pa.int32()),
            "distance": pc.add(part(11, 4_900), 30).cast(pa.int32()),
            "src": pick(13),
            "dst": pick(4_391),
        }
    )


def comparable(table, names):
    """The columns in one order, with texts in one encoding, sorted. Whether a column may be null is no part of it."""
    kind = lambda column: pa.string() if is_text(column.type) else column.type
    columns = [table[name].cast(kind(table[name])).combine_chunks() for name in names]
    return pa.table(columns, names).sort_by([(name, "ascending") for name in names]).combine_chunks()


def is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)


def encoded(table, kind):
    """`src` and `dst` in other encodings of the same text."""
    if kind == "dictionary":
        columns = {"src": pa.dictionary(pa.int16(), pa.string()), "dst": pa.dictionary(pa.int32(), pa.string())}
    elif kind == "large_string":
        columns = {"src": pa.large_string(), "dst": pa.large_string()}
    else:
        return table
    for name, to in columns.items():
        values = table[name].dictionary_encode().cast(to) if kind == "dictionary" else table[name].cast(to)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return table


def load_and_compare(client, contract, table, mode, kind, compression):
    sent = encoded(table, kind)
    answer = put(
        client, path("Flight"), sent.to_batches(max_chunksize=BATCH_ROWS), call_options(mode, compression)
    )
    found = get(client, contract.table_ticket("Flight"))
    return {
        "kind": kind,
        "compression": compression,
        "batches": len(sent.to_batches(max_chunksize=BATCH_ROWS)),
        "rows_read": int(contract.receipt(answer)["rows_read"]),
        "rows_found": found.num_rows,
        "distinct_ids": len(pc.unique(found["id"])),
        "equal": comparable(found, FLIGHT_COLUMNS).equals(comparable(table, FLIGHT_COLUMNS)),
        "negative_delays": pc.sum(pc.less(found["delay"], 0)).as_py(),
    }


def main(url, airports_csv):
    client, contract = flight.connect(url), Contract(url)
    nodes = airports(airports_csv)
    put(client, path("Airport"), nodes.to_batches(), call_options("append"))
    stored = get(client, contract.table_ticket("Airport"))
    codes = nodes["iata"].combine_chunks()
    table = flights(codes, FLIGHTS, 0)
    loads = [load_and_compare(client, contract, table, "append", "string", None)]
    # Each of these replaces the flights before it by others.
    others = [("dictionary", None), ("large_string", None), ("string", "lz4"), ("string", "zstd"), ("dictionary", "zstd")]
    for turn, (kind, compression) in enumerate(others, start=1):
        table = flights(codes, 2 * BATCH_ROWS + 1, turn * FLIGHTS)
        loads.append(load_and_compare(client, contract, table, "overwrite", kind, compression))
    info = client.get_flight_info(path("Flight"))
    verdict(
        {
            "airports_sent": nodes.num_rows,
            "airports_equal": comparable(stored, nodes.column_names).equals(comparable(nodes, nodes.column_names)),
            "loads": loads,
            "info_records": info.total_records,
            "info_schema": str(info.schema.remove_metadata()),
            "read_schema": str(client.do_get(info.endpoints[0].ticket).read_all().schema.remove_metadata()),
            "listed": sorted("/".join(part.decode() for part in each.descriptor.path) for each in client.list_flights(GRAPH.encode())),
        }
    )


main(*sys.argv[1:])
