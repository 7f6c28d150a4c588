"""Events of networks: traffic, links and nodes that come and go, and synthetic days."""
