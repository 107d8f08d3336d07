"""The exceptions that boxpen raises for problems a user can fix.

Every message is one sentence that names what was found, where, and how to fix it; the command line
prints it and exits with status 2.
"""

__all__ = [
    "BoxpenError",
    "BuildError",
    "CacheError",
    "ClusterError",
    "ConfigError",
    "ModelError",
    "NmtError",
    "PolicyError",
    "RunError",
    "ScoringError",
    "SuiteError",
    "TrainError",
    "nearest",
]


class BoxpenError(Exception):
    """Base of all errors that a user can fix."""


class SuiteError(BoxpenError):
    """A suite, an item or a data file is invalid."""


class BuildError(BoxpenError):
    """A suite cannot be built: the raw data, the configuration or a stage is invalid."""


class ConfigError(BuildError, ValueError):
    """A configuration is wrong: a file, a key or a value.

    A ``ValueError`` too, so that the check of a table can add the file and the table to it.
    """


class ModelError(BoxpenError):
    """A model cannot be found, loaded or used for this purpose."""


class TrainError(BoxpenError):
    """A training cannot start, continue or be saved."""


class NmtError(BoxpenError):
    """A translation model cannot be trained, saved, loaded or used."""


class PolicyError(BoxpenError):
    """A scoring policy or recipe is unknown or not applicable."""


class ScoringError(BoxpenError):
    """A text could not be given a meaningful score."""


class CacheError(BoxpenError):
    """The score cache cannot be read or written."""


class ClusterError(BoxpenError):
    """Work cannot be shared: the store, an executor or a worker."""


class RunError(BoxpenError):
    """A run directory cannot be read or written."""


def nearest(name: str, known: list[str]) -> str:
    """Return a clause that suggests the known names closest to ``name``, or lists them all."""
    import difflib

    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    return "known: " + ", ".join(known) + "."
