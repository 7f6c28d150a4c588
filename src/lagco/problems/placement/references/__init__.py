"""References of `placement`: sweeps and solver."""
