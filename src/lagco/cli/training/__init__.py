"""Commands that train encoders and agents, and list agents."""
