"""One hash for all that a result is made from: code, closures, settings, versions."""
