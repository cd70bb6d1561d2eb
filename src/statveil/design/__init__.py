"""How a mechanism is found."""
