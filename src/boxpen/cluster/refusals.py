"""Why an object store refuses a request, in one sentence, and whether to try again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boxpen.failures import reason

__all__ = ["exists", "missing", "refused", "transient"]

_BUSY = {408, 429, 500, 502, 503, 504}
_BUSY_CODES = {"RequestTimeout", "ConditionalRequestConflict", "SlowDown", "OperationAborted"}
_WRONG_CREDENTIALS = {
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken",
}  # fmt: skip
# Names, as the libraries may not be installed.
_NETWORK = {
    "HTTPClientError", "ConnectionError", "TimeoutError", "ClientError:aiohttp", "FSTimeoutError",
    "IncompleteReadError", "IncompleteRead", "ResponseParserError", "ServiceRequestError",
    "ServiceResponseError",
}  # fmt: skip
_NO_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound",
    "TokenRetrievalError", "SSOError", "DefaultCredentialsError", "ClientAuthenticationError",
}  # fmt: skip


def exists(error: BaseException) -> bool:
    """Tell whether an exclusive create was refused because there is an object."""
    return isinstance(error, FileExistsError) or _status(error) == 412


def missing(error: BaseException) -> bool:
    """Tell whether there is no such object, in a bucket that is there."""
    return isinstance(error, FileNotFoundError) and _code(error) != "NoSuchBucket"


def transient(error: BaseException) -> bool:
    """Tell whether the same request may succeed later."""
    return _busy(error) or _unreachable(error)


def refused(error: BaseException, url: str) -> str:
    """Return what is wrong, in one sentence."""
    code, names = _code(error), _names(error)
    if names & _NO_CREDENTIALS:
        return f"{url} cannot be used without credentials: {reason(error)}; {_credentials(url)}"
    if code in _WRONG_CREDENTIALS:
        return f"{url} does not accept the credentials ({code}); {_credentials(url)}"
    if code == "RequestTimeTooSkewed":
        return f"{url} refuses requests from this machine because its clock is wrong; set the clock"
    if code == "NoSuchBucket" or isinstance(error, FileNotFoundError):
        return f"there is no bucket for {url}; create it, or correct the name or the endpoint"
    if isinstance(error, PermissionError) or _status(error) in (401, 403):
        return (
            f"{url}: permission denied; the credentials must allow to list, read, write and delete "
            "objects"
        )
    if _busy(error):
        return f"{url} is too busy ({reason(error)}); use fewer workers or try again later"
    if _unreachable(error):
        return f"{url} cannot be reached ({reason(error)}); check the network and the endpoint"
    return f"{url} cannot be used: {reason(error)}"


def _busy(error: BaseException) -> bool:
    return _status(error) in _BUSY or _code(error) in _BUSY_CODES


def _unreachable(error: BaseException) -> bool:
    return bool(_names(error) & _NETWORK)


def _credentials(url: str) -> str:
    if url.startswith("s3"):
        return "check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    return "log in first"


def _names(error: BaseException) -> set[str]:
    """Return the names of its classes; ``ClientError`` means two things."""
    classes = type(error).__mro__
    return {c.__name__ for c in classes} | {
        f"{c.__name__}:{c.__module__.partition('.')[0]}" for c in classes
    }


def _code(error: BaseException) -> str:
    """Return the code in the answer of S3."""
    for response in _responses(error):
        return str(response.get("Error", {}).get("Code", ""))
    return ""


def _status(error: BaseException) -> int:
    """Return the status of the answer; 0 if it is unknown."""
    for response in _responses(error):
        return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    for name in ("status_code", "status", "code"):  # of Azure, aiohttp, Google
        found = getattr(error, name, None)
        if isinstance(found, int | str) and str(found).isdigit():
            return int(found)
    return 0


def _responses(error: BaseException) -> Iterator[dict[str, dict[str, Any]]]:
    for cause in (error, error.__cause__):
        if isinstance(found := getattr(cause, "response", None), dict):
            yield found
