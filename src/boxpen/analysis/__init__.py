"""Analysis of suites: faults of the data, and their size."""

from boxpen.analysis.lint import Finding, lint
from boxpen.analysis.stats import SetStats, SideStats, stats

__all__ = ["Finding", "SetStats", "SideStats", "lint", "stats"]
