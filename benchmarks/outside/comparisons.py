"""All comparisons, by problem."""

from benchmarks.outside import cyber_path, max_cut, min_vertex, networks, placement, tsp

COMPARISONS = {
    found.problem: found
    for found in (
        tsp.COMPARISON,
        min_vertex.COMPARISON,
        max_cut.COMPARISON,
        networks.OSPF,
        networks.TRAFFIC,
        placement.COMPARISON,
        cyber_path.COMPARISON,
    )
}
