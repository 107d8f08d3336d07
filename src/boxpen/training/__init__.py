"""What all trainings share: the run folder, checkpoints, resuming, validation and the loop."""
