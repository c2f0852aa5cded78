"""Searches that several methods share."""
