"""Sends half of a load, prints a line, and then stays until it is killed, or ends by an uncaught exception.

Usage: half.py URL stay|raise

Arrow's client sends a regular end of stream when the program dies of an exception; the mark that ends a load is then missing.
"""

import sys
import time

import pyarrow as pa
import pyarrow.flight as flight

from support import call_options, path

BATCHES = 10
BATCH_ROWS = 1_000


def batch(number):
    codes = [f"H{number}-{row}" for row in range(BATCH_ROWS)]
    return pa.record_batch(
        {
            "iata": codes,
            "name": codes,
            "country": ["USA"] * BATCH_ROWS,
            "latitude": [0.0] * BATCH_ROWS,
            "longitude": [0.0] * BATCH_ROWS,
        }
    )


def main(url, end):
    client = flight.connect(url)
    writer, _reader = client.do_put(path("Airport"), batch(0).schema, call_options("append"))
    for number in range(BATCHES // 2):
        writer.write_batch(batch(number))
    print("half", flush=True)
    if end == "raise":
        raise RuntimeError("the program that loads has a defect")
    time.sleep(600)


main(*sys.argv[1:])
