"""The manual is part of the product: what it shows is run, what it lists is compared with the code."""
