"""Optimal robust recourse for linear models: the method, its ball, and two exact searches."""
