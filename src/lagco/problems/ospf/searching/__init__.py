"""Search for weights within limits, over several scenarios."""
