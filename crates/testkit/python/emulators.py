"""Stores of S3 and Azure that run on this machine: moto and azurite, on free ports of loopback, with one bucket and one container.

    python emulators.py <azurite's main.js> <bucket>

Prints one line of JSON when both answer, and ends both when its standard input ends: when the test that started it is gone, however it went.
"""

import json
import logging
import socket
import subprocess
import sys
import tempfile
import time

import boto3
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

# The account and key that azurite is documented with; they open nothing else.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
ACCESS = "testing"
REGION = "us-east-1"
START_SECONDS_MAX = 60


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_azurite(main, folder):
    port = free_port()
    # The container is in memory, so that nothing is left behind and nothing waits for a disk.
    command = ["node", main, "--silent", "--disableTelemetry", "--skipApiVersionCheck", "--inMemoryPersistence"]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    return process, f"http://127.0.0.1:{port}/{ACCOUNT}"


def make_container(process, endpoint, container):
    client = BlobServiceClient(endpoint, credential={"account_name": ACCOUNT, "account_key": KEY}, retry_total=0)
    until = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            client.create_container(container)
            return
        except AzureError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.1)


def main():
    azurite_main, bucket = sys.argv[1:]
    for name in ("werkzeug", "azure"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        azurite, azure_endpoint = start_azurite(azurite_main, folder)
        try:
            moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
            moto.start()
            host, port = moto.get_host_and_port()
            s3_endpoint = f"http://{host}:{port}"
            s3 = boto3.client(
                "s3",
                endpoint_url=s3_endpoint,
                region_name=REGION,
                aws_access_key_id=ACCESS,
                aws_secret_access_key=ACCESS,
            )
            s3.create_bucket(Bucket=bucket)
            make_container(azurite, azure_endpoint, bucket)
            variables = {
                "AWS_ACCESS_KEY_ID": ACCESS,
                "AWS_SECRET_ACCESS_KEY": ACCESS,
                "AWS_REGION": REGION,
                "AWS_ENDPOINT_URL": s3_endpoint,
                "AWS_ALLOW_HTTP": "true",
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": KEY,
                "AZURE_STORAGE_ENDPOINT": azure_endpoint,
                "AZURE_ALLOW_HTTP": "true",
            }
            print(json.dumps({"bucket": bucket, "variables": variables}), flush=True)
            sys.stdin.read()
            moto.stop()
        finally:
            azurite.terminate()
            azurite.wait(timeout=10)


if __name__ == "__main__":
    main()
