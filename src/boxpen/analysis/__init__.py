"""Analysis of suites and runs: size, shortcuts, slices, trends, robustness, discourse."""
