"""Training runs on the screen and as plots."""
