"""The catalogue as the problem uses it: outcomes with rewards, and vectors."""
