"""What the author of a problem touches: graph views, declarations, environments, the checker."""
