"""The tools for files: which ones a caller may open, and what is in them."""
