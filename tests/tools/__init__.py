"""What tools do, called as a turn calls them."""
