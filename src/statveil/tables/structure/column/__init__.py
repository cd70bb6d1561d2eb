"""What a column shows of itself."""
