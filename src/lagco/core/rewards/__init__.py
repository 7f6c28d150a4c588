"""References and scores."""
