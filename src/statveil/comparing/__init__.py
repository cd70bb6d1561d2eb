"""Our mechanisms beside the alternatives, on one real column. Private, like everything computed from an original."""
