"""Version of the package; it stands here for modules that are below the root."""

__version__ = "0.2.0"
