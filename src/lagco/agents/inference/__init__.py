"""Compiled networks of trained agents, and valid actions as tables."""
