"""Workers: processes that read files, keep live instances in memory, and decide."""
