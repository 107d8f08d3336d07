"""A real S3 server on this machine: moto's, with what moto lacks.

moto looks whether an object is there and writes it in two steps; S3 does both in one, and so does
this server. It can also fail on request, as real ones do.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

SLOW_DOWN = (
    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
)
LOST = b"<Error><Code>InternalError</Code><Message>We encountered an error.</Message></Error>"
# What a machine that runs the tests may have set must not count.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


class S3Server:
    """A server in a process of its own."""

    def __init__(self, port: int = 0, bucket: str = "first") -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(port), bucket],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip()
        self.port = int(self.url.rpartition(":")[2])
        self.environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url}

    def make_bucket(self, name: str) -> str:
        self._ask("PUT", f"/{name}")
        return f"s3://{name}/boxpen"

    def fill(self, url: str, prefix: str, count: int) -> None:
        """Write empty objects: ``prefix0``, ``prefix1``, and so on."""
        self._ask("POST", f"/_fill/{count}/{url.removeprefix('s3://')}/{prefix}")

    def fail(self, how: str, times: int) -> None:
        """Answer the next requests with ``busy``, or with an error after doing them: ``lost``.

        ``ignore`` does them without the condition on which they were made.
        """
        self._ask("POST", f"/_fail/{how}/{times}")

    def check_credentials(self, *, check: bool) -> None:
        self._ask("POST", "/moto-api/reset-auth", b"0" if check else b"inf")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _ask(self, method: str, path: str, data: bytes = b"") -> None:
        request = urllib.request.Request(
            self.url + path, data, {"Content-Type": "text/plain"}, method=method
        )
        with urllib.request.urlopen(request) as answer:
            answer.read()


@contextlib.contextmanager
def running(port: int = 0) -> Iterator[S3Server]:
    server = S3Server(port)
    try:
        yield server
    finally:
        server.kill()


def serve(port: int, bucket: str) -> None:
    from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server
    from werkzeug.test import Client

    moto = DomainDispatcherApplication(create_backend_app)
    inside = Client(moto)
    inside.put(f"/{bucket}")
    writing = threading.Lock()
    failing = {"how": "", "times": 0}

    def application(environ, start):
        path = environ["PATH_INFO"]
        if path.startswith("/_fill/"):
            _, _, count, key = path.split("/", 3)
            for number in range(int(count)):
                inside.put(f"/{key}{number}", headers={"Content-Length": "0"})
            start("200 OK", [("Content-Length", "0")])
            return [b""]
        if path.startswith("/_fail/"):
            _, _, failing["how"], times = path.split("/")
            failing["times"] = int(times)
            start("200 OK", [("Content-Length", "0")])
            return [b""]
        with writing:
            how = failing["how"] if failing["times"] else ""
            failing["times"] = max(0, failing["times"] - 1)
            if how == "busy":
                start("503 Slow Down", [("Content-Length", str(len(SLOW_DOWN)))])
                return [SLOW_DOWN]
            if how == "ignore":
                environ.pop("HTTP_IF_NONE_MATCH", None)
            if how == "lost":
                list(moto(environ, lambda *args: None))
                start("500 Internal Server Error", [("Content-Length", str(len(LOST)))])
                return [LOST]
            return moto(environ, start)

    server = make_server(
        "127.0.0.1", port, application, threaded=True, request_handler=MotoRequestHandler
    )
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2])
