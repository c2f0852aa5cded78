"""The tables of a run: what is counted from its pieces, and how people read it."""
