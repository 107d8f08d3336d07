"""Who may do what: tokens, sessions, roles, forged requests and limits.

A link carries its token in the fragment, which browsers do not send: it is in no log and in no
``Referer``. The page posts it once and gets a cookie. Every session has its own cookie, made when
someone enters, whatever the browser had before. Requests that change something must carry a value
derived from the cookie, which other sites cannot read, and must not come from another origin.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from boxpen.review.app.store import ROLES, Person, Role, hashed

if TYPE_CHECKING:
    from boxpen.review.app.campaign import Campaign

__all__ = ["COOKIE", "Access", "Refused", "Visitor", "allowed", "csrf_of"]

COOKIE = "boxpen_session"
MAX_BODY = 1 << 20
"""Bytes of a request."""
PATIENCE = 30
"""Seconds within which a request must have arrived."""

Handler = Callable[[Request], Awaitable[Response]]


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """A request that is answered with an error.

    Args:
        status: The status.
        why: One sentence, which the page shows.
        wait: Seconds after which to try again.
    """

    def __init__(self, status: int, why: str, wait: int | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait

    def response(self) -> Response:
        """Return what is sent."""
        headers = {} if self.wait is None else {"Retry-After": str(self.wait)}
        return JSONResponse({"error": self.why}, self.status, headers)


class Limit:
    """At most ``rate`` requests per second for each key, and ``burst`` at once."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._left: dict[object, tuple[float, float]] = {}

    def take(self, key: object, *, cost: int = 1) -> None:
        """Refuse what is too much; a cost of 0 only asks whether another request is allowed."""
        at = time.monotonic()
        left, before = self._left.get(key, (float(self.burst), at))
        left = min(self.burst, left + (at - before) * self.rate)
        if left < 1:
            self._left[key] = (left, at)
            wait = int((1 - left) / self.rate) + 1
            raise Refused(429, f"too many requests; try again in {wait} s", wait)
        self._left[key] = (left - cost, at)
        if len(self._left) > 10_000:  # forget who has not been here for long
            full = self.burst / self.rate
            self._left = {k: v for k, v in self._left.items() if at - v[1] < full}


class Visitor:
    """Whose request it is."""

    def __init__(self, person: Person, session: str, csrf: str) -> None:
        self.person, self.session, self.csrf = person, session, csrf

    @property
    def name(self) -> str:
        """The person's name, under which judgements are kept."""
        return self.person.name

    @property
    def role(self) -> Role:
        """What they may do."""
        return self.person.role


class Access:
    """Sessions and limits of a campaign.

    Args:
        campaign: Whose people may enter.
        secure: Whether cookies are sent over TLS only; None: as the request came.
        tries: Wrong tokens from one address per minute; right ones do not count.
        rate: Requests per second of one person.
    """

    def __init__(
        self, campaign: Campaign, *, secure: bool | None = None, tries: int = 30, rate: float = 50
    ) -> None:
        self.campaign, self.secure = campaign, secure
        self.sessions = campaign.store.sessions()
        self.entering = Limit(tries / 60, tries)
        self.requests = Limit(rate, int(10 * rate))

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Return whose session a request belongs to; None if it has none."""
        cookie = request.cookies.get(COOKIE)
        if not cookie:
            return None
        session = hashed(cookie)
        person = self.campaign.people.get(self.sessions.get(session, -1))
        if person is None or person.revoked:
            return None
        return Visitor(person, session, csrf_of(cookie))

    def end(self, person: int) -> None:
        """Forget the sessions of someone."""
        self.sessions = {key: who for key, who in self.sessions.items() if who != person}

    def set_cookie(self, request: Request, response: Response, value: str) -> None:
        """Hand out a session."""
        secure = request.url.scheme == "https" if self.secure is None else self.secure
        response.set_cookie(
            COOKIE, value, path=_path(request), httponly=True, samesite="strict", secure=secure,
            max_age=30 * 24 * 3600,
        )  # fmt: skip

    def delete_cookie(self, request: Request, response: Response) -> None:
        """Take it back."""
        response.delete_cookie(COOKIE, path=_path(request), httponly=True, samesite="strict")


def csrf_of(cookie: str) -> str:
    """Return the value that requests of a session must carry; it does not tell the cookie."""
    return hashlib.sha256(b"csrf:" + cookie.encode()).hexdigest()


def check_origin(request: Request) -> None:
    """Refuse a request that another site made."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        own = urlsplit(origin).netloc == request.headers.get("host")
    except ValueError:
        own = False
    if not own:
        raise Refused(403, "the request comes from another site")


async def body_of(request: Request) -> bytes:
    """Read a body that is not too long, and does not take too long."""
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                body += part
                if len(body) > MAX_BODY:
                    raise Refused(413, f"the request has more than {MAX_BODY >> 10} KiB")
    except ClientDisconnect:  # nobody hears this; without it, everyone could fill the log
        raise Refused(400, "the request was cut off") from None
    except TimeoutError:
        raise Refused(408, f"the request took more than {PATIENCE} s to arrive") from None
    return bytes(body)


def allowed(*roles: Role, page: bool = False) -> Callable[[Handler], Handler]:
    """Let only these roles in; requests that change something must carry the right header.

    Args:
        roles: Who may; everyone who has entered if none is named.
        page: Whether it is a page, which those who have not entered are sent away from.
    """

    def wrapped(handler: Handler) -> Handler:
        async def checked(request: Request) -> Response:
            access: Access = request.app.state.access
            visitor = access.visitor(request)
            if visitor is None:
                if page:
                    return RedirectResponse("enter", 303)
                raise Refused(401, "your session has ended; enter again with your link")
            access.requests.take(visitor.person.id)
            if visitor.role not in (roles or ROLES):
                raise Refused(403, f"this is not open to the role '{visitor.role}'")
            if request.method not in ("GET", "HEAD"):
                check_origin(request)
                given = request.headers.get("x-csrf-token", "")
                if not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
                    raise Refused(403, "the request lacks the right X-CSRF-Token")
            request.state.visitor = visitor
            return await handler(request)

        checked.__name__ = handler.__name__
        return checked

    return wrapped


def base_of(request: Request) -> str:
    """Return the address of the app, as the request came to it."""
    return str(request.url.replace(path=_path(request), query="", fragment=""))


def _path(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/") + "/"
