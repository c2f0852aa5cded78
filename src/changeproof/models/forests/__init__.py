"""Forests of decision trees of every library as one set of arrays, evaluated by one kernel."""
