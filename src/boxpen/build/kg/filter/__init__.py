"""The filter of triples."""
