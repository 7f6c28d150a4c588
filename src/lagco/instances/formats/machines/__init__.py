"""Machines in files of others: plain tables, and traces of virtual machines."""
