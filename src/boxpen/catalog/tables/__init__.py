"""Other people's tables: their headers, columns, cells and labels."""
