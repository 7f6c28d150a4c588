"""Choice of the class of action sets, made once for all states of an environment."""

from __future__ import annotations

from lagco.errors import SpecError
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.actions.layout import ActionLayout, PathPart
from lagco.latent.actions.listed import ListedPaths, ListedSubgraphs
from lagco.latent.actions.paths import PathActions
from lagco.latent.actions.products import ProductActions, SingleActions
from lagco.latent.actions.subgraphs import SubgraphActions


def action_strategy(layout: ActionLayout) -> type[ActionSet]:
    """The class for actions of this layout.

    ================================================  =======================
    an action is                                      class
    ================================================  =======================
    one node, edge, option or listed set              :class:`SingleActions`
    several of these                                  :class:`ProductActions`
    a path with a slot per position, or these too     :class:`PathActions`
    any other path                                    :class:`ListedPaths`
    a connected subgraph whose pooling has bounds     :class:`SubgraphActions`
    any other connected subgraph                      :class:`ListedSubgraphs`
    ================================================  =======================
    """
    last, reduced = layout.last, layout.projection is not None
    if last is None:
        return SingleActions if len(layout.names) == 1 else ProductActions
    if isinstance(last, PathPart):
        if layout.references or layout.different:
            raise SpecError(
                f"_action_type[{last.name!r}]: a path beside components with reference= or "
                "different_from= is not supported; declare such conditions in is_valid_action()"
            )
        return PathActions if last.reader.pooling is None and not reduced else ListedPaths
    return SubgraphActions if last.reader.pooling is not None and not reduced else ListedSubgraphs
