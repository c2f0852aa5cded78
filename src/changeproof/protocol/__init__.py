"""What to run (plan), what has run (store) and running the difference (runner)."""
