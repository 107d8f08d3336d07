"""Analysis of suites and runs: faults of the data, their size, shortcuts, slices."""

from boxpen.analysis.suites.audit import AuditRow, audit
from boxpen.analysis.suites.differences import Differences, differences
from boxpen.analysis.suites.lint import Finding, lint
from boxpen.analysis.suites.stats import SetStats, SideStats, stats

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
