"""Other tools: their formats for suites and results, and boxpen inside pytest."""

from boxpen.exchange.folder import export_runs, export_suite

__all__ = ["export_runs", "export_suite"]
