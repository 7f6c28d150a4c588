"""Teachers, their demonstrations, and networks that learn from them."""
