"""Execution of tasks."""
