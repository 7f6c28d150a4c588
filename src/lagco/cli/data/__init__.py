"""Commands on instances and data sets."""
