"""quorum."""
