"""Starting a server: tasks from targets, people and their links, and the address."""

from __future__ import annotations

import contextlib
import gc
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from boxpen.errors import BuildError, nearest
from boxpen.failures import reason
from boxpen.names import check_judge
from boxpen.review.app.campaign import Asked, Campaign
from boxpen.review.app.gold import read_gold
from boxpen.review.app.links import Links
from boxpen.review.app.plan import Plan
from boxpen.review.app.store import Role, Store
from boxpen.review.database import Database, is_url
from boxpen.review.task import Target
from boxpen.review.tasks import find_task

__all__ = ["Address", "Request", "opened", "serve"]

COORDINATOR = "coordinator"
_USUAL_JUDGES = 3


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to serve.

    Attributes:
        words: Targets: run directories together are one, every other word is one of its own.
        tasks: Names of tasks: one for all targets, or one for each.
        tag: The tag to ask for, and ``values``, those that may be given.
        judges: Names, or one number; those that the database has if empty.
        gold: File of gold items.
        database: File or URL; ``review.db`` beside the journal if None.
        plan: How many judges each item gets.
        new_links: People whose links are replaced.
    """

    words: Sequence[str]
    tasks: Sequence[str] = ()
    tag: str | None = None
    values: tuple[str, ...] | None = None
    judges: Sequence[str] = ()
    gold: Path | None = None
    database: str | None = None
    plan: Plan = field(default_factory=Plan)
    new_links: Sequence[str] = ()

    def targets(self) -> list[Target]:
        """Return the targets."""
        runs = [word for word in self.words if Target((word,)).runs]
        first = self.words.index(runs[0]) if runs else 0
        found: list[Target] = []
        for place, word in enumerate(self.words):
            if word not in runs:
                found.append(Target((word,), None, self.tag, self.values))
            elif place == first:
                found.append(Target(tuple(runs), None, self.tag, self.values))
        return found

    def asked(self) -> list[Asked]:
        """Return the tasks."""
        targets = self.targets()
        names: list[str | None] = [*self.tasks] or [None]
        if len(targets) > 1 and len(names) == 1:
            names *= len(targets)
        elif len(targets) == 1:
            targets *= len(names)
        if len(names) != len(targets):
            raise BuildError(
                f"--task names {len(names)} tasks for {len(targets)} targets, expected one for "
                "all, or one for each"
            )
        found = []
        for target, name in zip(targets, names, strict=True):
            task = find_task(target, name)
            found.append(Asked(task, target.place, task.journal.tag or ""))
        if len({(one.task.name, one.tag, one.target) for one in found}) < len(found):
            raise BuildError("a target is given twice for the same task, expected each once")
        if self.gold is None:
            return found
        gold = read_gold(self.gold, [one.task for one in found])
        return [one._replace(gold=some) for one, some in zip(found, gold, strict=True)]

    @property
    def names(self) -> list[str]:
        """The judges' names; empty if none were asked for."""
        if len(self.judges) == 1 and self.judges[0].isdecimal():
            number = int(self.judges[0])
            if not 1 <= number <= 1000:
                raise BuildError(f"--judges is {number}, expected from 1 to 1000, or names")
            return [f"judge-{n}" for n in range(1, number + 1)]
        for name in self.judges:
            check_judge(name, "--judges")
        if COORDINATOR in self.judges:
            raise BuildError(f"--judges has '{COORDINATOR}', who is someone else; choose another")
        if len(set(self.judges)) < len(self.judges):
            raise BuildError("--judges has a name twice, expected each once")
        return list(self.judges)


@contextlib.contextmanager
def opened(request: Request) -> Iterator[tuple[Campaign, list[tuple[str, Role, str]]]]:
    """Open a campaign; yield it with the name, role and token of everyone who is new."""
    names = request.names
    asked = request.asked()
    beside = asked[0].task.journal.path.parent
    place = request.database or str(beside / "review.db")
    if not is_url(place) and not Path(place).parent.is_dir():
        raise BuildError(f"--database is {place}, but there is no folder {Path(place).parent}")
    database = Database(place, create=True)
    try:
        database.serve_alone()
        with database.errors():
            store = Store(database)
            known = {person.name: person for person in store.people()}
            judges = [p for p in known.values() if p.role == "judge" and not p.revoked]
            if not names and not judges:
                names = [f"judge-{n}" for n in range(1, _USUAL_JUDGES + 1)]
            team = len({*(p.name for p in judges), *names})
            for option in ("overlap", "until_agree"):
                wanted = getattr(request.plan, option)
                if wanted is not None and wanted > team:
                    raise BuildError(
                        f"--{option.replace('_', '-')} is {wanted}, expected {team} or fewer: "
                        f"there are {team} judges"
                    )
            for name in names:
                if name in known and known[name].role != "judge":
                    raise BuildError(f"--judges has '{name}', who is the {known[name].role}")
            name = ", ".join(dict.fromkeys(word for word in request.words))
            campaign = Campaign(store, asked, request.plan, name)
            wanted_people: list[tuple[str, Role]] = [(name, "judge") for name in names]
            if not any(p.role == "coordinator" and not p.revoked for p in known.values()):
                wanted_people.append((COORDINATOR, "coordinator"))
            new = [
                (name, role, store.add_person(name, role, "boxpen review serve"))
                for name, role in wanted_people
                if name not in known
            ]
            for name in request.new_links:
                if name not in known:
                    raise BuildError(f"--new-link is '{name}', {nearest(name, sorted(known))}")
                token = store.renew(known[name], "boxpen review serve")
                new.append((name, known[name].role, token))
            campaign.know_people()
        yield campaign, new
        campaign.writer.close()
    finally:
        database.close()


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    Attributes:
        host: Name or address.
        port: Port; a free one if 0.
        certificate: File of the TLS certificate; plain HTTP if None.
        key: File of its key.
    """

    host: str = "127.0.0.1"
    port: int = 8760
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Refuse a port or a certificate that cannot be used, before any work."""
        if not 0 <= self.port < 1 << 16:
            raise BuildError(f"--port is {self.port}, expected a number from 0 to 65535")
        if (self.certificate is None) != (self.key is None):
            raise BuildError("--tls-cert and --tls-key need each other, expected both or neither")
        if self.certificate is not None:
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self.certificate, self.key)
            except (OSError, ssl.SSLError) as error:
                raise BuildError(
                    f"--tls-cert {self.certificate} and --tls-key {self.key} cannot be used: "
                    f"{reason(error)}"
                ) from None

    def listen(self) -> socket.socket:
        """Return a socket that listens."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0]
            made = socket.socket(found[0], found[1])
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(found[4])
            made.listen(256)
        except (OSError, OverflowError, UnicodeError) as error:
            raise BuildError(
                f"{self.host}, port {self.port}, cannot be used: {reason(error)}; choose another "
                "--port, or 0 for a free one"
            ) from None
        return made

    def url(self, listening: socket.socket) -> str:
        """Return the address for links; every network becomes the name of this machine."""
        host = self.host
        if host in ("0.0.0.0", "::", ""):
            host = socket.gethostname()
        host = f"[{host}]" if ":" in host else host
        scheme = "http" if self.certificate is None else "https"
        return f"{scheme}://{host}:{listening.getsockname()[1]}"


def serve(
    request: Request,
    address: Address,
    say: Callable[[str, list[str]], None],
    prepare: Callable[[Campaign], None] | None = None,
) -> None:
    """Serve a campaign until it is interrupted.

    Args:
        request: What to serve.
        address: Where.
        say: Called when the server is ready, with its address and lines to show.
        prepare: Called before that with the campaign.
    """
    import uvicorn

    from boxpen.review.app.server import create_app

    address.check()
    # The port first: whoever is added to the database must get to see their link.
    with address.listen() as listening, opened(request) as (campaign, new):
        base = address.url(listening)
        if prepare is not None:
            prepare(campaign)
        links = Links(campaign.store.database)
        lines = links.keep(base, new)
        config = uvicorn.Config(
            create_app(campaign),
            log_level="warning",
            access_log=False,  # addresses of judges and items need not be on disk
            server_header=False,
            lifespan="off",
            ws="none",
            ssl_certfile=address.certificate,
            ssl_keyfile=address.key,
            timeout_graceful_shutdown=5,
        )
        # The event loop must not wait for the thread that writes; the usual 5 ms are long here.
        sys.setswitchinterval(0.0005)
        gc.collect()
        gc.freeze()  # what is loaded stays, and need not be looked through again and again
        with contextlib.suppress(KeyboardInterrupt):
            say(base, [*campaign.changed, *lines])
            uvicorn.Server(config).run(sockets=[listening])
