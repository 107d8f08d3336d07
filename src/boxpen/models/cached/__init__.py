"""Ask models with a cache: only what is not in the cache reaches the model."""

from boxpen.models.cached.ask import BEAM, Ask, Source, Task
from boxpen.models.cached.lookup import Found, Progress, looked_up
from boxpen.models.cached.near_ties import Contest, scored_fast
from boxpen.models.cached.requests import ScoredRequests, scored

__all__ = [
    "BEAM",
    "Ask",
    "Contest",
    "Found",
    "Progress",
    "ScoredRequests",
    "Source",
    "Task",
    "looked_up",
    "scored",
    "scored_fast",
]
