"""Feature matrices from declared attributes."""
