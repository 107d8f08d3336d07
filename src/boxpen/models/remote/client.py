"""The HTTP client for servers: concurrent requests, retries, pacing, tokens and cost.

Requests run in worker threads; ``Client.each`` yields their answers as they arrive. What goes wrong
ends in one of three ways:

- *again*: 429, 5xx, time-outs, broken connections and pages that are not JSON are repeated with a
  jittered, growing delay (or after ``Retry-After``), up to a number of tries.
- *unanswered*: a request that the server rejects (400), or that has used up its tries, fails alone.
- *the end*: a wrong key, a wrong path or a server that has stopped answering fails everything.

No message contains a key: neither headers nor what a server says about them are quoted.
"""

from __future__ import annotations

import contextlib
import email.utils
import importlib.util
import json
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from boxpen.errors import ModelError
from boxpen.models.remote.pace import Budget, Pace, RetryError, Usage
from boxpen.models.remote.settings import ServerSettings
from boxpen.printable import printable

if TYPE_CHECKING:
    import httpx

__all__ = [
    "Answer", "Budget", "Call", "Client", "MismatchError", "UnansweredError", "UnreachableError",
    "Usage", "as_mismatch",
]  # fmt: skip

_T = TypeVar("_T")

Answer = dict[str, Any]  # of a translator, any JSON

FIRST_DELAY = 0.5  # seconds before the second try; doubled for each one after it
LONGEST_DELAY = 30.0
LONGEST_RETRY_AFTER = 300.0
PATIENCE = 600.0  # seconds of nothing but 429 before a request fails
_GONE = 12  # failures in a row after which the server counts as gone
_QUOTED = 200  # characters of a server's own message
_UNPAID = (402, 456)  # the second is DeepL's
_MANY = 10**9  # tokens that no request has


class MismatchError(ValueError):
    """An answer that does not fit its request; the message names what was seen."""


@contextlib.contextmanager
def as_mismatch() -> Iterator[None]:
    """Turn whatever an answer of unknown shape leads to into a ``MismatchError``."""
    try:
        yield
    except MismatchError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise MismatchError("the answer has an unknown shape") from None


class UnansweredError(ModelError):
    """One request failed for good; others may succeed.

    Attributes:
        reason: Why, without the model: ``HTTP 500 after 6 tries``.
        status: The HTTP status, if the server answered.
        code: The server's own name for the problem, as in ``content_filter``.
    """

    def __init__(self, model: str, reason: str, status: int | None = None, code: str = "") -> None:
        super().__init__(f"model '{model}': {reason}")
        self.reason = reason
        self.status = status
        self.code = code

    def rejection(self) -> str:
        """Return why the server rejected the request; raise if it did not answer at all."""
        if self.status is None:
            raise self
        return self.reason


class UnreachableError(ModelError):
    """No connection to the server could be made."""


class Call(NamedTuple):
    """One request.

    Attributes:
        path: Below the base URL, as in ``/completions``; below the root if it begins with ``//``.
        body: What to post.
        tokens: Maximum prompt tokens it can cost; of a translator, characters.
        tag: Anything, to tell answers apart.
    """

    path: str
    body: Any
    tokens: int = 0
    tag: Any = None


class Client:
    """A server that speaks HTTP and JSON.

    Args:
        name: The model, for messages.
        settings: URL, headers, limits and prices.

    Attributes:
        usage: What was sent so far.
        budget: Limit on the cost, if there is one.
    """

    def __init__(self, name: str, settings: ServerSettings) -> None:
        self.name = name
        self.settings = settings
        self.usage = Usage()
        self.budget: Budget | None = None
        self._pace = Pace(settings.concurrency)
        self._lock = threading.Lock()
        headers = settings.secrets()
        keys = (os.environ.get(name, "").strip() for name in settings.variables)
        self._hidden = [*headers.values(), *keys, *(v.split()[-1] for v in headers.values() if v)]
        self._http = self._open(headers)
        self._reached = False
        self._last_success = time.monotonic()

    def _open(self, headers: dict[str, str]) -> httpx.Client:
        try:
            import httpx
        except ImportError:
            raise ModelError(
                f"model '{self.name}' needs httpx: pip install 'boxpen[api]'"
            ) from None
        logging.getLogger("hpack").setLevel(logging.INFO)  # or it logs headers, with keys in them
        return httpx.Client(
            headers=headers,
            verify=not self.settings.url.startswith("http://"),  # certificates take 0.1 s to load
            http2=importlib.util.find_spec("h2") is not None,
            timeout=httpx.Timeout(self.settings.timeout, connect=min(10.0, self.settings.timeout)),
            limits=httpx.Limits(max_connections=self.settings.concurrency),
        )

    def call(
        self,
        path: str,
        body: Any = None,
        *,
        tokens: int = 0,
        retries: int | None = None,
        stop: threading.Event | None = None,
    ) -> Answer:
        """Send one request, repeating it if need be; GET if there is no body.

        Args:
            path: See ``Call``.
            body: What to post.
            tokens: Maximum prompt tokens it can cost.
            retries: Other than in the settings, for what a server need not have.
            stop: Ends the waiting.

        Raises:
            UnansweredError: If this request failed for good.
            ModelError: If no request can succeed, or the budget is spent.
        """
        stop = stop or threading.Event()
        allowed = self.settings.retries if retries is None else retries
        tries = rounds = 0
        while True:
            try:
                with self._pace.turn(stop):
                    answer = self._paid(path, body, tokens)
                self._pace.speed_up()
                self._last_success = time.monotonic()
                return answer
            except RetryError as again:
                waited = time.monotonic() - self._last_success
                # A rate limit is not the request's fault, unless it never ends.
                tries += not (again.limited and waited < PATIENCE)
                if tries > allowed:
                    many = f"{tries} tries" if tries > 1 else "1 try"
                    raise UnansweredError(self.name, f"{again.reason} after {many}") from None
                delay = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(rounds, 10))
                delay *= random.uniform(0.5, 1.0)
                rounds += 1
                if again.after is not None:
                    delay = min(again.after, LONGEST_RETRY_AFTER) + 0.1 * delay
                self._pace.slow_down(delay if again.limited else 0.0)
                with self._lock:
                    self.usage.retries += 1
                if stop.wait(delay):
                    raise UnansweredError(self.name, "interrupted") from None

    def each(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Answer | UnansweredError]]:
        """Send requests concurrently, and yield each with its answer as soon as it arrives.

        Calls are taken from the iterable as they can be sent, by other threads. No more than
        ``concurrency`` requests are in flight or answered but not yet handed on, which is what a
        kill can cost.

        Raises:
            ModelError: If no further request can succeed, after those in flight are yielded.
        """
        source, taking = iter(calls), threading.Lock()
        done: queue.SimpleQueue[tuple[Call, Answer | BaseException] | None] = queue.SimpleQueue()
        stop = threading.Event()
        workers = self.settings.concurrency
        room = threading.Semaphore(workers)

        def work() -> None:
            while room.acquire() and not stop.is_set():
                call = None
                try:
                    with taking:
                        call = next(source, None)
                    if call is None:
                        break
                    answer = self.call(call.path, call.body, tokens=call.tokens, stop=stop)
                    done.put((call, answer))
                except BaseException as error:  # handed to the thread that asked
                    done.put((call or Call("", {}), error))
            done.put(None)

        for _ in range(workers):
            threading.Thread(target=work, daemon=True).start()
        end: BaseException | None = None
        failures = 0
        try:
            while workers:
                try:
                    one = done.get()
                except KeyboardInterrupt as error:  # what is in flight is paid for, so wait once
                    if stop.is_set():
                        raise
                    one = (Call("", None), error)
                if one is None:
                    workers -= 1
                    continue
                call, answer = one
                if isinstance(answer, UnansweredError):
                    failures += answer.status is None
                    if answer.status == 404:
                        end = end or answer
                    elif failures >= _GONE:
                        end = end or ModelError(
                            f"model '{self.name}' has stopped answering ({answer.reason}); all "
                            "answers so far are kept, so rerun the same command to resume"
                        )
                    if end is None or not stop.is_set():
                        yield call, answer
                elif isinstance(answer, BaseException):
                    end = end or answer
                else:
                    failures = 0
                    yield call, answer
                room.release()
                if end is not None:
                    stop.set()
                    room.release(workers)
                    self._pace.wake()
            if end is not None:
                raise end
        finally:
            stop.set()
            room.release(self.settings.concurrency)
            self._pace.wake()

    def read_each(
        self, calls: Iterable[Call], read: Callable[[Call, Answer], _T]
    ) -> Iterator[tuple[Call, _T | UnansweredError]]:
        """Send requests as ``each`` does, and read the answers.

        Args:
            calls: What to send.
            read: Makes something of an answer; a ``MismatchError`` leaves the request unanswered.
        """
        for call, answer in self.each(calls):
            if isinstance(answer, UnansweredError):
                yield call, answer
                continue
            try:
                with as_mismatch():
                    found = read(call, answer)
            except MismatchError as error:
                yield call, UnansweredError(self.name, str(error), 200)
            else:
                yield call, found

    def _paid(self, path: str, body: Any, tokens: int) -> Answer:
        """Send a request once, within the budget, and count what it used."""
        most = self.settings.cost(tokens, _limit(body))
        budget, cost = self.budget, 0.0
        if budget is not None:
            budget.reserve(most)
        try:
            answer = self._once(path, body)
            sent, made = tokens, _limit(body)
            if not self.settings.any_json:  # a translator is paid by the character
                sent, made = _used(answer, sent, made)
            cost = self.settings.cost(sent, made)
            with self._lock:
                self.usage.sent += sent
                self.usage.made += made
            return answer
        except RetryError as again:
            # Nobody knows whether the provider charges for an answer that did not arrive.
            cost = 0.0 if again.limited else most
            raise
        finally:
            with self._lock:
                self.usage.requests += 1
                self.usage.cost += cost
            if budget is not None:
                budget.settle(most, cost)

    def _once(self, path: str, body: Any) -> Answer:
        import httpx

        url = self.settings.root + path[1:] if path[:2] == "//" else self.settings.base + path
        try:
            if body is None or self.settings.in_query:
                response = self._http.get(url, params=body)
            else:
                response = self._http.post(url, json=body)
            self._reached = True
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            reason = "time-out" if isinstance(error, httpx.ConnectTimeout) else _system(error)
            if not self._reached:
                raise UnreachableError(
                    f"model '{self.name}': cannot connect to {self.settings.base} ({reason})"
                ) from None
            raise RetryError(f"connection failed ({reason})") from None
        except httpx.TimeoutException:
            seconds = f"{self.settings.timeout:g} s"
            raise RetryError(f"no answer within {seconds}") from None
        except (httpx.TransportError, httpx.DecodingError):
            raise RetryError("the connection was closed before the answer was complete") from None
        return self._read(response)

    def _read(self, response: httpx.Response) -> Answer:
        status = response.status_code
        if status == 200:
            try:
                answer: Answer = json.loads(response.content)
            except (ValueError, RecursionError):
                kind = response.headers.get("content-type", "").partition(";")[0].strip()
                page = response.content[:256].lstrip()[:1] == b"<"
                what = "HTML" if page else printable(kind) or "something else"
                raise RetryError(f"answered with {what} instead of JSON") from None
            if not self.settings.any_json and not isinstance(answer, dict):
                raise RetryError("answered with JSON that is not an object")
            return answer
        if status in (401, 403):
            names = self.settings.variables
            known = "was rejected" if any(map(os.environ.get, names)) else "is not set"
            key = f"; the key in {', '.join(names)} {known}" if names else ""
            raise ModelError(f"model '{self.name}': the server denied access (HTTP {status}){key}")
        if 300 <= status < 400:
            raise ModelError(
                f"model '{self.name}': {self.settings.base} redirects elsewhere (HTTP {status}); "
                "give the final URL"
            )
        if status in _UNPAID or (status == 429 and "insufficient_quota" in response.text):
            raise ModelError(
                f"model '{self.name}': the quota of this key is used up (HTTP {status})"
            )
        if status in (408, 409, 425, 429) or (status >= 500 and status != 501):
            after = _seconds(response.headers.get("retry-after"))
            limited = status == 429 or (status == 503 and after is not None)
            raise RetryError(f"HTTP {status}", after=after, limited=limited)
        text, code = self._said(response)
        raise UnansweredError(
            self.name, f"HTTP {status}{f': {text}' if text else ''}", status, code
        )

    def _said(self, response: httpx.Response) -> tuple[str, str]:
        """Return a server's message, without keys that it might repeat, and its code."""
        try:
            found = json.loads(response.content)
            error = found.get("error", found)
        except (ValueError, AttributeError, RecursionError):
            return "", ""
        if not isinstance(error, dict):
            error = {"message": error}
        text = error.get("message")
        quoted = self.redacted(" ".join(text.split()))[:_QUOTED] if isinstance(text, str) else ""
        return quoted, str(error.get("code") or "")

    def redacted(self, text: str) -> str:
        """Return a text without keys."""
        for secret in (one for one in self._hidden if len(one) > 3):  # '1' is no key
            text = text.replace(secret, "…")
        return printable(text)


def _limit(body: Any) -> int:
    """Return the most tokens that a request lets the server make."""
    names = ("max_tokens", "max_completion_tokens")
    return next((body[n] for n in names if n in body), 0) if isinstance(body, dict) else 0


def _used(answer: Answer, sent: int, made: int) -> tuple[int, int]:
    """Return the tokens that were sent and made; the most there can be if they are not counted."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return sent, made
    counts = (usage.get("prompt_tokens"), sent), (usage.get("completion_tokens"), made)
    used = [n if isinstance(n, int) and 0 <= n < _MANY else most for n, most in counts]
    return used[0], used[1]


def _seconds(header: str | None) -> float | None:
    """Return the seconds of ``Retry-After``, which is a number or a date."""
    if header is None:
        return None
    with contextlib.suppress(ValueError):
        return max(0.0, float(header))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    return None


def _system(error: Exception) -> str:
    """Return what the system says about a connection, without its number."""
    text = str(error).rpartition("] ")[2]
    return printable(text)[:_QUOTED] or "no connection"
