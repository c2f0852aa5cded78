"""From other tools: tables of their counterfactuals, and searches of theirs as methods."""
