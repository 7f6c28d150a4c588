"""Patches of a network: which to apply, and what attackers own without them."""
