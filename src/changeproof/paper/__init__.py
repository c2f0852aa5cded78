"""The published numbers and claims, beside those of a run."""
