"""boxpen train: translation models, language models and classifiers."""

from __future__ import annotations

from boxpen.cli.app import app
from boxpen.cli.command import group

__all__ = ["train"]

train = group(app, "train", "Train translation models, language models and classifiers.", "Train")
