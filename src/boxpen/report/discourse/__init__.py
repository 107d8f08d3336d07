"""Tables of discourse phenomena."""
