"""Rows with outcomes: the embedded datasets and the `Task` that everything starts from."""
