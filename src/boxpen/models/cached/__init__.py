"""Ask models with a cache: only what is not in the cache reaches the model."""

from boxpen.models.cached.answers import answer_texts, likeliest_letters
from boxpen.models.cached.requests import Progress, ScoredRequests, scored
from boxpen.models.cached.translations import BEAM, translated

__all__ = [
    "BEAM",
    "Progress",
    "ScoredRequests",
    "answer_texts",
    "likeliest_letters",
    "scored",
    "translated",
]
