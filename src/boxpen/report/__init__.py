"""Reports: tables, charts and pages about runs."""
