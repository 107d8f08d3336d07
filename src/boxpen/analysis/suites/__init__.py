"""Analysis of suites: faults, size, shortcuts."""
