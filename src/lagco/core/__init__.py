"""Tools for the author of a problem: graph views, declarations, environments, the checker."""
