"""A store in an object store, such as S3, through fsspec.

Each operation is one request, or one per 1,000 names. Retries are all made here, as only here is it
known what they mean: an exclusive create whose answer was lost may have been the one that won.
"""

from __future__ import annotations

import itertools
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from boxpen.cluster.refusals import exists, missing, refused, transient
from boxpen.errors import ClusterError

__all__ = ["ObjectStore"]

MARKER = "boxpen-store"
"""The object with which an opened store proves that it can create exclusively."""

# The packages that create exclusively, by protocol; others check and write in two steps.
_PACKAGES = {
    "s3": "boxpen[s3]", "s3a": "boxpen[s3]", "memory": "boxpen[s3]", "gs": "gcsfs", "gcs": "gcsfs",
    "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
}  # fmt: skip
_S3 = ("s3", "s3a")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0  # seconds
_MEMORY = threading.Lock()  # stands in for what a server does

T = TypeVar("T")


class ObjectStore:
    """Objects below a URL.

    Attributes:
        url: The URL.
        requests: How many requests were made, by operation, retries included.

    Args:
        url: Such as ``s3://bucket/folder``. Credentials, region and endpoint come from the usual
            places: for S3, variables such as ``AWS_PROFILE`` and ``AWS_ENDPOINT_URL``.
        patience: For how many seconds to repeat a request that a busy server or the network
            refuses.

    Raises:
        ClusterError: If it cannot be reached, or does not create objects exclusively.
    """

    def __init__(self, url: str, patience: float = 60.0) -> None:
        self.url = url.rstrip("/") if not url.endswith("://") else url
        self.requests: Counter[str] = Counter()
        self._counting = threading.Lock()
        self._protocol, _, self._root = self.url.partition("://")
        self._files = _file_system(self._protocol, self.url)
        if not self._root and self._protocol != "memory":
            raise ClusterError(
                f"{url} names no bucket; give one, such as {self._protocol}://bucket/boxpen"
            )
        self._patience = min(patience, 5.0)  # a wrong address should not take a minute to report
        self._prove_exclusive()
        self._patience = patience

    def __repr__(self) -> str:
        return f"ObjectStore({self.url!r})"

    def get(self, key: str) -> bytes | None:
        """Return an object; None if there is none."""

        def attempt(_: int) -> bytes | None:
            try:
                data: bytes = self._files.cat_file(self._path(key))
            except Exception as error:
                if missing(error):
                    return None
                raise
            return data

        return self._repeated("get", attempt)

    def put(self, key: str, data: bytes) -> None:
        """Write an object, whole or not at all."""
        self._repeated("put", lambda _: self._pipe(key, data, "overwrite"))

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless there is one; return whether it was written.

        If an answer is lost and the object is there at the next attempt, it is ours if it has our
        data: those who compete should write different ones.
        """

        def attempt(number: int) -> bool:
            try:
                self._pipe(key, data, "create")
            except Exception as error:
                if exists(error):
                    return number > 0 and self.get(key) == data
                raise
            return True

        return self._repeated("put_new", attempt)

    def delete(self, key: str) -> None:
        """Remove an object if there is one."""

        def attempt(_: int) -> None:
            try:
                self._files.rm_file(self._path(key))
            except Exception as error:
                if not missing(error):
                    raise

        self._repeated("delete", attempt)

    def names(self, prefix: str) -> set[str]:
        """Return the keys that begin with a prefix, without it."""
        if self._protocol in _S3:
            return self._pages(prefix)
        root = self._path("")
        paths = self._repeated("list", lambda _: self._files.find(self._path(prefix, "folder")))
        stems = (str(path).lstrip("/").removeprefix(root.lstrip("/")) for path in paths)
        return {stem.removeprefix(prefix) for stem in stems if stem.startswith(prefix)}

    def _pages(self, prefix: str) -> set[str]:
        """Do what ``find`` does, with retries page by page."""
        bucket, start, _ = self._files.split_path(self._path(prefix))
        found: set[str] = set()
        mark: dict[str, str] = {}
        while True:
            page = self._repeated(
                "list",
                lambda _, mark=mark: self._files.call_s3(  # type: ignore[misc]
                    "list_objects_v2", Bucket=bucket, Prefix=start, **mark
                ),
            )
            found.update(row["Key"].removeprefix(start) for row in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return found
            mark = {"ContinuationToken": page["NextContinuationToken"]}

    def _path(self, key: str, what: str = "object") -> str:
        path = f"{self._root}/{key}" if self._root else f"/{key}"
        return path.rpartition("/")[0] if what == "folder" else path

    def _pipe(self, key: str, data: bytes, mode: str) -> None:
        if self._protocol == "memory":
            with _MEMORY:
                self._files.pipe_file(self._path(key), data, mode=mode)
        else:
            self._files.pipe_file(self._path(key), data, mode=mode)

    def _repeated(self, operation: str, attempt: Callable[[int], T]) -> T:
        """Return what comes of a request; repeat it as long as that may help."""
        end = time.monotonic() + self._patience
        for number in itertools.count():
            with self._counting:
                self.requests[operation] += 1
            try:
                return attempt(number)
            except ClusterError:
                raise
            except Exception as error:
                pause = min(_FIRST_PAUSE * 2**number, _LONGEST_PAUSE) * random.uniform(0.5, 1)
                if not transient(error) or time.monotonic() + pause > end:
                    raise ClusterError(refused(error, self.url)) from None
            time.sleep(pause)
        raise AssertionError

    def _prove_exclusive(self) -> None:
        for _ in range(2):
            if not self.put_new(MARKER, secrets.token_hex(8).encode()):
                return
        raise ClusterError(
            f"{self.url} cannot be used: the server overwrites objects that it was asked to create "
            "only if they are new (If-None-Match); use another server or a shared folder"
        )


def _file_system(protocol: str, url: str) -> Any:
    if protocol not in _PACKAGES:
        raise ClusterError(
            f"{url} cannot be used: objects cannot be created exclusively at {protocol}://; use "
            "s3://, gs://, az:// or a shared folder"
        )
    # No listings kept, no HEAD before each GET, no retries below ours.
    options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if protocol in _S3:
        options |= {"max_concurrency": 1, "config_kwargs": {"retries": {"total_max_attempts": 1}}}
    try:
        import fsspec

        files = fsspec.filesystem(protocol, **options)
    except ImportError:
        raise ClusterError(
            f"{url} needs a package that is missing: pip install '{_PACKAGES[protocol]}'"
        ) from None
    except Exception as error:
        raise ClusterError(refused(error, url)) from None
    if protocol in _S3:
        files.retries = 1
    return files
