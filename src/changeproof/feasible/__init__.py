"""Which rows a person may be told: features, rules, and the one search among them."""
