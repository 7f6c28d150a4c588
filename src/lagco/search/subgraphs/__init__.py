"""Nearest actions among connected subgraphs."""
