"""The encoder as a torch module."""
