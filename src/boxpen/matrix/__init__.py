"""Many models on many suites: plan files, estimates, and running them."""
