"""What is possible: distances, gamma, the two theorems, and the exact risk of bins."""
