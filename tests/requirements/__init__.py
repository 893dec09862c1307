"""The behaviours the product promises, and the mark that binds tests to them."""
