"""What other columns tell of a column."""
