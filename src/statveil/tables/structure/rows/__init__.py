"""What the order of the rows tells, and which rows belong together."""
