"""Tables as CSV, JUnit, LaTeX and Markdown."""
