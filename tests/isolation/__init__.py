"""Random worlds in which every text says where it comes from, read through every door by every kind of caller."""
