"""A standing attack: every kind of file that is read, mutated by seed, must be refused or work."""
