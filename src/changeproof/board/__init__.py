"""The board: tracks of a benchmark version, entries that people hand in, and what was verified."""
