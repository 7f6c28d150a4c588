"""Instances, data sets and their files."""

from lagco.instances.dataset import DataSet, Entry
from lagco.instances.form import ArrayForm, InstanceForm
from lagco.instances.formats import detect, read, read_solution, write, write_solution
from lagco.instances.formats.solutions import SolutionForm
from lagco.instances.instance import Instance, References, SolverReference, SweepReference

__all__ = [
    "ArrayForm",
    "DataSet",
    "Entry",
    "Instance",
    "InstanceForm",
    "References",
    "SolutionForm",
    "SolverReference",
    "SweepReference",
    "detect",
    "read",
    "read_solution",
    "write",
    "write_solution",
]
