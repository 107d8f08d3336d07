"""Commands that show, compare and check saved runs."""
