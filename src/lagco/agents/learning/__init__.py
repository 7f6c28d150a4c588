"""Learning: PPO, imitation, and the networks and heads that they train."""
