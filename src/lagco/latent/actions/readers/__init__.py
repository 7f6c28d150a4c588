"""Readers of components that need more than a table: paths, subgraphs, the choice of none."""
