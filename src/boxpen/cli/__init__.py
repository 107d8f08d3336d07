"""The command line. Results go to stdout; progress, notes and errors to stderr."""

from boxpen.cli.app import main

__all__ = ["main"]
