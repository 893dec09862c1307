"""`carrel demo`: a team of agents with a month of work behind it, in a store of its own, and at work while it is shown.

It is built with the functions that requests use, on a clock of its own, so that the same seed and the same last moment
give the same world.
"""
