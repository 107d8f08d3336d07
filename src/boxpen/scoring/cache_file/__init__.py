"""The file of the score cache: its tables, its size, and what to do when it is damaged."""
