"""Compiled arithmetic that gives the same digits on every processor."""
