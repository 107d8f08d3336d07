"""From a knowledge graph to tests: read, filter, rank, sample, review, negatives, render."""
