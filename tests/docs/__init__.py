"""The manual is tested: the commands it shows are run, the tables it contains are compared with the code."""
