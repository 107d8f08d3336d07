"""The operations that make duals."""
