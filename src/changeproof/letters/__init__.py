"""Letters: what an audit tells each person, as documents that can be sent."""
