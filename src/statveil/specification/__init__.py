"""What to do with each column of a table, decided and published before anyone looks at the data."""
