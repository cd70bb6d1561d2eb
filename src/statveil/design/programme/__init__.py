"""The best randomised mechanism on a grid of cells: a linear programme with its proof."""
