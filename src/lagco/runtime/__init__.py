"""Threads, compiled code and progress."""
