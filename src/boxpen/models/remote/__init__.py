"""Models behind an API: names, the HTTP client, the probe, and scoring."""
