"""Tables in databases: one file per way to reach them, all with the same few questions."""
