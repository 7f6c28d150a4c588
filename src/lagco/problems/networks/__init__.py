"""Shared parts of `ospf` and `traffic`: networks with demands, generator, loads and bounds."""
