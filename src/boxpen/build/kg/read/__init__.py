"""Readers of knowledge graphs."""
