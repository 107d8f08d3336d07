"""Load on the server of ``boxpen review serve``, and what survives when it is killed.

    python scripts/review_load.py kills                       # SQLite in a temporary folder
    python scripts/review_load.py kills --database postgresql://localhost/review
    python scripts/review_load.py dashboard                   # one million judgements

``kills`` has judges answer every item of a suite while the server is killed again and again
(``kill -9``) and started anew. Every judge sends one judgement at a time, waits for the reply, and
sends it again, under the same id, until it is acknowledged. Afterwards the database must hold what
was acknowledged, once each. ``dashboard`` fills a database and times the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from boxpen.review.database import Database
from boxpen.review.database.tables import JUDGEMENT


def write_suite(path: Path, items: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for n in range(items):
            texts = [f"The {n}th box is in the pen.", f"The {n}th pen is in the box."]
            item = {"kind": "choice", "id": f"i{n:06}", "candidates": texts, "gold": n % 2}
            stream.write(json.dumps(item) + "\n")


class Server:
    """The server process, which can be killed and started again."""

    def __init__(self, suite: Path, database: str, judges: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.command = [
            sys.executable, "-m", "boxpen", "review", "serve", str(suite), "--judges", str(judges),
            "--database", database, "--port", str(self.port),
        ]  # fmt: skip
        self.links: dict[str, str] = {}

    async def start(self) -> float:
        """Start it; return the seconds until it is ready."""
        begun = time.monotonic()
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        lines = self.process.stdout
        assert lines is not None
        while True:
            line = await asyncio.to_thread(lines.readline)
            if not line:
                raise SystemExit("the server did not start")
            if "#" in line:
                name, link = line.split()
                self.links[name] = link.partition("#")[2]
            if line.startswith("serving at"):
                return time.monotonic() - begun

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Interrupt it; return its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


class Client:
    """Just enough HTTP for one judge on one connection, so that clients take little of the CPU."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie = self.csrf = ""
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, data: Any = None) -> tuple[int, bytes]:
        """Ask once; return the status and the reply."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        body = b"" if data is None else json.dumps(data).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
        if self.cookie:
            head += f"Cookie: {self.cookie}\r\nX-CSRF-Token: {self.csrf}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
            for line in lines[1:]:
                if line.lower().startswith("set-cookie: "):
                    self.cookie = line[12:].partition(";")[0]
            reply = await reader.readexactly(int(headers.get("content-length", 0)))
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            self.streams = None
            raise ConnectionError from None
        return int(lines[0].split()[1]), reply

    async def asked(self, method: str, path: str, data: Any = None) -> Any:
        """Ask until there is an answer."""
        while True:
            try:
                status, reply = await self.ask(method, path, data)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            if status == 200:
                return json.loads(reply)
            if status not in (429, 503):
                raise SystemExit(f"{method} {path}: {status} {reply!r}")
            await asyncio.sleep(0.5)


async def judge(
    name: str, token: str, port: int, each: int, think: float, times: list[float]
) -> dict[str, tuple[str, str]]:
    """Judge items; return the id and the answer of each, as acknowledged."""
    client = Client(port)
    rng = random.Random(name)
    await client.asked("POST", "/enter", {"token": token})
    me = await client.asked("GET", "/api/me")
    client.csrf, key = me["csrf"], me["tasks"][0]["key"]
    done: dict[str, tuple[str, str]] = {}
    while len(done) < each:
        found = await client.asked("GET", f"/api/tasks/{key}/queue?limit=200")
        for question in found["questions"]:
            await asyncio.sleep(rng.expovariate(1 / think) if think else 0)
            answer = rng.choice("12")
            entry = {
                "id": str(uuid.UUID(int=rng.getrandbits(128))), "task": key, "ms": 900,
                "item": question["item"], "seen": question["seen"], "order": question["order"],
                "answer": answer,
            }  # fmt: skip
            while True:
                begun = time.perf_counter()
                try:
                    status, reply = await client.ask(
                        "POST", "/api/judgements", {"judgements": [entry]}
                    )
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                if status == 200 and entry["id"] in json.loads(reply)["saved"]:
                    times.append(time.perf_counter() - begun)
                    break
                if status == 200:
                    raise SystemExit(f"{name}: {reply!r}")
                await asyncio.sleep(0.2)
            done[question["item"]] = (entry["id"], answer + " " + question["order"])
            if len(done) == each:
                break
    return done


async def kills(args: argparse.Namespace, folder: Path) -> None:
    suite = folder / "load.jsonl"
    write_suite(suite, args.each)
    database = args.database or str(folder / "review.db")
    server = Server(suite, database, args.judges)
    print(f"ready after {await server.start():.1f} s")
    times: list[float] = []
    names = [f"judge-{n}" for n in range(1, args.judges + 1)]
    work = [
        asyncio.create_task(
            judge(name, server.links[name], server.port, args.each, args.think, times)
        )
        for name in names
    ]
    begun = time.monotonic()
    whole = args.judges * args.each
    for n in range(args.kills):
        while len(times) < whole * (n + 1) / (args.kills + 1):
            await asyncio.sleep(0.02)
        server.kill()
        await server.start()
    said = dict(zip(names, await asyncio.gather(*work), strict=True))
    took = time.monotonic() - begun
    print(f"exit status after Ctrl-C: {server.stop()}")
    _compare(database, said)
    print(f"{len(times):,} saves in {took:.0f} s, {args.kills} kills, think time {args.think} s")
    p50, p95, p99 = np.percentile(1000 * np.array(times), [50, 95, 99])
    print(f"p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, max {1000 * max(times):.0f} ms")


def _compare(place: str, said: dict[str, dict[str, tuple[str, str]]]) -> None:
    database = Database(place)
    with database.reading() as connection:
        rows = connection.execute(JUDGEMENT.select()).all()
    database.close()
    stored: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        stored.setdefault((row.judge, row.item), []).append(row)
    wanted = {(name, item): one for name, of in said.items() for item, one in of.items()}
    lost = [key for key in wanted if key not in stored]
    doubled = [key for key, some in stored.items() if len(some) > 1]
    unknown = [key for key in stored if key not in wanted]
    other = [
        key for key, (name, answer) in wanted.items()
        if key in stored and (stored[key][0].id != name or stored[key][0].shown_order
                              != answer.partition(" ")[2])
    ]  # fmt: skip
    print(f"{len(wanted):,} acknowledged, {len(rows):,} stored: {len(lost)} lost, "
          f"{len(doubled)} doubled, {len(unknown)} unknown, {len(other)} differ")  # fmt: skip
    if lost or doubled or unknown or other:
        raise SystemExit(1)


async def dashboard(args: argparse.Namespace, folder: Path) -> None:
    from boxpen.review.app.start import Request, opened
    from boxpen.review.database.journal import row_of
    from boxpen.review.judgement import Judgement

    suite = folder / "load.jsonl"
    items = args.judgements // args.judges
    write_suite(suite, items)
    place = args.database or str(folder / "review.db")
    rng = random.Random(0)
    names = [f"judge-{n}" for n in range(1, args.judges + 1)]
    with opened(Request(words=[str(suite)], judges=[str(args.judges)], database=place)) as (c, new):
        token = next(token for _, role, token in new if role == "coordinator")
        judge_token = new[0][2]
        one = next(iter(c.tasks.values()))
        digests = one.progress.digests
        after = 0
        for start in range(0, items, 200):
            rows = []
            for place_ in range(start, min(items, start + 200)):
                right, name = str(place_ % 2 + 1), one.progress.questions[place_].item
                for who in names:
                    verdict = right if rng.random() < 0.85 else str(3 - int(right))
                    said = Judgement(name, who, verdict, "", "", digests[place_],
                                     "2026-01-01T00:00:00Z", "1 2")  # fmt: skip
                    ms = int(rng.lognormvariate(8, 0.5))
                    rows.append(row_of(said, one.key, f"{who}-{place_}", ms=ms))
            after = c.store.save(rows, after)[-1].seq
    server = Server(suite, place, args.judges)
    print(f"{after:,} judgements; ready after {await server.start():.1f} s")
    client, worker = Client(server.port), Client(server.port)
    await client.asked("POST", "/enter", {"token": token})
    await worker.asked("POST", "/enter", {"token": judge_token})
    me = await worker.asked("GET", "/api/me")
    worker.csrf = me["csrf"]
    for _ in range(4):
        begun = time.perf_counter()
        found = await client.asked("GET", "/api/dashboard")
        print(f"dashboard: {time.perf_counter() - begun:.2f} s "
              f"({found['tasks'][0]['judgements']:,} judgements)")  # fmt: skip
        question = await worker.asked("GET", "/api/tasks/answers/items/i000001")
        entry = {"id": str(uuid.uuid4()), "task": "answers", "item": "i000001", "answer": "1",
                 "seen": question["seen"], "order": question["order"], "ms": 900}  # fmt: skip
        begun = time.perf_counter()
        await worker.asked("POST", "/api/judgements", {"judgements": [entry]})
        print(f"a save: {1000 * (time.perf_counter() - begun):.1f} ms")
        await asyncio.sleep(2.1)
    print(f"exit status after Ctrl-C: {server.stop()}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Load on the server of boxpen review serve.")
    parser.add_argument("what", choices=["kills", "dashboard"])
    parser.add_argument("--database", help="PostgreSQL URL of an empty database (default: SQLite)")
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--each", type=int, default=1000, help="judgements per judge")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--think", type=float, default=0.1, help="mean seconds before an answer")
    parser.add_argument("--judgements", type=int, default=1_000_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="review-load-") as folder:
        asyncio.run({"kills": kills, "dashboard": dashboard}[args.what](args, Path(folder)))


if __name__ == "__main__":
    main()
