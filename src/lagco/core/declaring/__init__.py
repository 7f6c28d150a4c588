"""Declarations resolved against views, and what follows from them."""
