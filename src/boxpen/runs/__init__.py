"""Runs: results and how they were made, their folders, comparisons and rules."""
