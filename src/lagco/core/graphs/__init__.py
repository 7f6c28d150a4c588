"""Graphs behind views: columns, networkx at the border, hop distances."""
