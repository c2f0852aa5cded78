"""A gate for pipelines: rules about the numbers of a finished run."""
