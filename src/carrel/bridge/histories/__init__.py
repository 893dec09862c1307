"""What was said in other programs before, read from their files as entries of the board."""
