"""From names and files to models: checkpoints, kinds, fingerprints."""
