"""Models of any kind: what can be trained again, and so be audited."""
