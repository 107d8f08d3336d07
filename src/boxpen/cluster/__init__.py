"""Work on several processes or machines: units, the store they are kept in, and who runs them."""
