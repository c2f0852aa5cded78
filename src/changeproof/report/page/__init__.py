"""The page: from tables and pieces to one file that opens without a network."""
