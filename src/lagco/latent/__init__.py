"""Observations and action spaces from embeddings."""
