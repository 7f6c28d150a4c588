"""Store of live instances: what was acknowledged, in SQLite or PostgreSQL."""
