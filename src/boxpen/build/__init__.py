"""Builders: raw data in, a suite out."""
