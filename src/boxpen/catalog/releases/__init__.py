"""Public releases, one importer each."""
