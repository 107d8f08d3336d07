"""Commands that evaluate models on suites."""
