"""Action sets: components, their vectors, static structure and validity."""
