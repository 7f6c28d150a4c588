"""Instances, data sets and their files."""

from lagco.instances.dataset import DataSet, Entry
from lagco.instances.instance import Instance, References, SolverReference, SweepReference
from lagco.instances.native import read_instance, write_instance

__all__ = [
    "DataSet",
    "Entry",
    "Instance",
    "References",
    "SolverReference",
    "SweepReference",
    "read_instance",
    "write_instance",
]
