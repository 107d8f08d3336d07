"""Dual tests: pairs of sentences changed a little, so that another answer is right, or the same."""
