"""Search for paths within limits and over scenarios."""
