"""A run: from a plan over its pieces, the store and the runner to results and tables."""
