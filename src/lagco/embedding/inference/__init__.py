"""The compiled encoder."""
