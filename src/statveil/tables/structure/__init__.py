"""Structure that gives a move away: steps, heaps, atoms, and counts that do not follow their family."""
