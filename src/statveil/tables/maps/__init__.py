"""The maps of the column, one file each."""
