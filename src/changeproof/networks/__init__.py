"""Networks that judge rows: one, many at once, and how they are trained."""
