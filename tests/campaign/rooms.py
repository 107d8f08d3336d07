"""Lets the campaign import what other tests have: tiny models, toy builds, small corpora."""

import sys
from pathlib import Path

for room in ("", "bilm", "build", "exchange", "models", "nmt", "scoring", "train"):
    sys.path.insert(0, str(Path(__file__).parents[1] / room))
