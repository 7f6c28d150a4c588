"""Training runs: environments, trainer, checkpoints, loggers, validation."""
