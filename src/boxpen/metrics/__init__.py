"""Metrics: pure functions over verdicts. Nothing here imports torch."""
