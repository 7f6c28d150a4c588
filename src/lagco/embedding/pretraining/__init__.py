"""Pre-training of the graph auto-encoder."""
