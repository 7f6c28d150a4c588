"""Plans of studies and estimates of their cost."""
