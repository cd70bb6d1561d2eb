"""What was released before: an append-only book of releases, and what they tell together."""
