"""How rows and cells are taken and read by those who search them."""
