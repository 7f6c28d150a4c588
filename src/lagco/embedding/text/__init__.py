"""Sentence embeddings of texts."""
