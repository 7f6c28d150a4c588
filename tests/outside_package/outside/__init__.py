"""A package of somebody else's that adds a problem, a method and a file format to lagco."""
