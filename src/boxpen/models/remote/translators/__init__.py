"""Translation systems behind any HTTP interface."""
