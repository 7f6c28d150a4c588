"""Instance and solution files in the formats of others: TSPLIB, Gset, DIMACS, PACE, SNDlib, …"""

from lagco.instances.formats.registry import (
    FORMATS,
    detect,
    read,
    read_solution,
    write,
    write_solution,
)

__all__ = ["FORMATS", "detect", "read", "read_solution", "write", "write_solution"]
