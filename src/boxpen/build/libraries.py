"""The libraries that builders need beyond boxpen's own: the extra ``build``."""

from __future__ import annotations

from importlib.util import find_spec

from boxpen.errors import BuildError

__all__ = ["need_libraries"]

_LIBRARIES = {
    "inflect": "inflect",
    "lemminflect": "lemminflect",
    "nltk": "nltk",
    "spellchecker": "pyspellchecker",
}


def need_libraries() -> None:
    """Raise a ``BuildError`` if a library is missing, with how to install them all."""
    for module, package in _LIBRARIES.items():
        if find_spec(module) is None:
            raise BuildError(
                f"tests from a graph need {package}; install it with: pip install 'boxpen[build]'"
            )
