"""Networks as trained agents pass them."""
