"""From triples to English."""
