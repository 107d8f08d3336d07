"""Sources of suites: files, the registry of public releases, and their downloads."""

from boxpen.catalog.download import fetch
from boxpen.catalog.entry import Entry, RemoteFile
from boxpen.catalog.files import read_suite, write_suite
from boxpen.catalog.registry import entries, is_suite, load_suite, recipes_of, suite_names

__all__ = [
    "Entry",
    "RemoteFile",
    "entries",
    "fetch",
    "is_suite",
    "load_suite",
    "read_suite",
    "recipes_of",
    "suite_names",
    "write_suite",
]
