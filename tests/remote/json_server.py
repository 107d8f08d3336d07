"""A small HTTP server that answers with JSON, and fails on demand."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class JsonServer:
    """Serves in a thread, and logs what it is asked; ``answer`` is up to subclasses.

    Args:
        key: What a client must send.
        fault: What is wrong with it, see ``sabotaged``.
        delay: Seconds before each answer.
    """

    def __init__(self, *, key: str | None = None, fault: str = "", delay: float = 0.0) -> None:
        self.key, self.fault, self.delay = key, fault, delay
        self.log: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.most = self.busy = 0
        self.lock = threading.Lock()
        self.chance = random.Random(5)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # an answer is one packet, or each would wait for 40 ms

            def do_GET(self) -> None:
                self.answer({})

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                self.answer(json.loads(self.rfile.read(length)))

            def answer(self, body: dict[str, Any]) -> None:
                with server.lock:
                    server.log.append((self.path, body))
                    server.headers.append(dict(self.headers))
                    server.busy += 1
                    server.most = max(server.most, server.busy)
                try:
                    if server.sabotaged(self):
                        return
                    time.sleep(server.delay)
                    status, found = server.answer(self.path, body, dict(self.headers))
                    self.send(status, json.dumps(found).encode())
                finally:
                    with server.lock:
                        server.busy -= 1

            def send(
                self, status: int, data: bytes, kind: str = "application/json", **more: str
            ) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                for name, value in more.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:  # clients are killed, or hang up
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def answer(self, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        """Return a status and what to answer."""
        raise NotImplementedError

    def denied(self, headers: dict[str, str]) -> tuple[int, Any] | None:
        """Return the answer to a wrong key, which repeats it."""
        if self.key and not str(headers.get("Authorization")).endswith(f" {self.key}"):
            said = f"Incorrect API key provided: {headers.get('Authorization')}"
            return 401, {"error": {"message": said}}
        return None

    def sabotaged(self, handler: Any) -> bool:
        """Fail at the level of HTTP, where the fault is of that kind."""
        with self.lock:
            lucky = self.chance.random() < 0.3
        if self.fault == "storm" and not lucky:
            when = "0.01" if self.chance.random() < 0.5 else "Mon, 01 Jan 2001 00:00:00 GMT"
            handler.send(429, b'{"error": "slow down"}', Retry_After=when)
        elif self.fault == "half_closed" and not lucky:
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"choices": [')
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_WR)
            handler.close_connection = True
        elif self.fault == "html" or (self.fault == "some_html" and not lucky):
            handler.send(200, b"<html><body>Sign in</body></html>", "text/html")
        else:
            return False
        return True
