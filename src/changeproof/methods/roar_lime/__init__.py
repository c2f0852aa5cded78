"""ROAR on local surrogates by LIME."""
