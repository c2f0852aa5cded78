"""Does somebody's method or family keep to its contract? Authors run these on theirs."""
