"""What a person reads: texts and charts made from results."""
