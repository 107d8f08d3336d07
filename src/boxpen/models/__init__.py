"""Models: one file per kind, and ``resolve`` that turns a name into one of them."""
