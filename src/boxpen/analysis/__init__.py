"""Analysis of suites and runs: faults of the data, their size, shortcuts, slices."""

from boxpen.analysis.audit import AuditRow, audit
from boxpen.analysis.differences import Differences, differences
from boxpen.analysis.lint import Finding, lint
from boxpen.analysis.stats import SetStats, SideStats, stats

__all__ = [
    "AuditRow",
    "Differences",
    "Finding",
    "SetStats",
    "SideStats",
    "audit",
    "differences",
    "lint",
    "stats",
]
