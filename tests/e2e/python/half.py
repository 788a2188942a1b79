"""Sends half of a load, says so, and then stays until it is killed, or cancels the load and ends.

Usage: half.py URL stay|cancel
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
    writer, reader = client.do_put(path("Airport"), batch(0).schema, call_options("append"))
    for number in range(BATCHES // 2):
        writer.write_batch(batch(number))
    print("half", flush=True)
    if end == "cancel":
        # Closing without an end of stream is what pyarrow calls cancelling; the client's end resets the stream.
        reader.close() if hasattr(reader, "close") else None
        client.close()
        sys.exit(0)
    time.sleep(600)


main(*sys.argv[1:])
