"""Robust Bayesian recourse."""
