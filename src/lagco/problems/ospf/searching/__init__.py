"""Search for weights that keeps to limits and looks at several scenarios."""
