"""What tells how many rows a table had."""
