"""Limits of allocations beyond the capacities, and migrations in an order that keeps to them."""
