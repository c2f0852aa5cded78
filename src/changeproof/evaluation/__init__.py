"""What became of fixed counterfactuals under every change, and how sure we are of it."""
