"""Conjunction acceptability: sentences of a text with their conjunction exchanged."""
