"""Benchmarks: decisions, training, encoding, decoding."""
