"""Agents: the batched vector environment and one module per method."""
