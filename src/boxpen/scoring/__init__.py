"""Scoring: policies, requests, records, verdicts and the cache. Nothing here imports torch."""
