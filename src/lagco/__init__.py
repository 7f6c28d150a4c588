"""lagco."""
