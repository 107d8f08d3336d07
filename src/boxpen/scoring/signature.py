"""Signatures: one line that describes how a number was obtained, as in sacreBLEU."""

from __future__ import annotations

from boxpen.version import __version__

__all__ = ["signature"]


def signature(
    *,
    suite: str,
    suite_hash: str,
    sample: str | None = None,
    model: str,
    fingerprint: str,
    kind: str,
    recipe: str,
    **settings: object,
) -> str:
    """Return ``suite:…|model:…|…|version:…``; equal strings mean the same measurement.

    Settings of None do not apply to the model and are left out.
    """
    parts = {
        "suite": f"{suite}@{suite_hash[:8]}",
        **({"sample": sample} if sample else {}),
        "model": f"{model}@{fingerprint[:8]}",
        "kind": kind,
        "recipe": recipe,
        **{name: value for name, value in settings.items() if value is not None},
        "version": __version__,
    }
    return "|".join(f"{name}:{_shown(value)}" for name, value in parts.items())


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).replace("|", "/")
