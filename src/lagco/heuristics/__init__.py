"""Search for good solutions of any problem, by nothing but its rules.

>>> search = Search(Depots(instance), seed=42)
>>> search.run(10_000)
>>> search.best.objective
"""

from lagco.heuristics.plans import EpisodePlan
from lagco.heuristics.reference import NAME, rules_search, solver_reference
from lagco.heuristics.search import Best, Search

__all__ = ["NAME", "Best", "EpisodePlan", "Search", "rules_search", "solver_reference"]
