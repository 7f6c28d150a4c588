"""Instance and solution files of others: TSPLIB, Gset, DIMACS, PACE, SNDlib, GraphML, JSON, CSV."""

from lagco.instances.formats.registry import (
    FORMATS,
    detect,
    read,
    read_solution,
    write,
    write_solution,
)

__all__ = ["FORMATS", "detect", "read", "read_solution", "write", "write_solution"]
