"""The decision service under load, under kills, and under hostile requests."""
