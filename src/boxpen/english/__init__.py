"""English: words, inflection, phrases and clauses. Knows no suites and no models."""
