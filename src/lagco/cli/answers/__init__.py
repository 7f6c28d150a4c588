"""Commands that solve, evaluate and draw."""
