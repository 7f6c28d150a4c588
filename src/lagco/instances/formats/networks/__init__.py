"""Communication networks and their demands."""
