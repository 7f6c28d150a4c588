"""Draws the figure of the guide page "How an action becomes a vector and back".

python docs/figures/action_vectors.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from lagco import pretrain
from lagco.commands.generate import generate_instance
from lagco.latent.space import LatentSpace
from lagco.problems.tsp import TSP

OUT = Path(__file__).with_suffix(".png")
BLUE, ORANGE, GREEN, GREY = "#1f3a5f", "#e07b39", "#2e8b57", "#9aa5b1"


def main() -> None:
    """Half a tour of 16 cities: the state, its action vectors, and a proto-action decoded."""
    data = [generate_instance("tsp", size=size, index=size) for size in (10, 14, 18)]
    encoder = pretrain("tsp", data, progress=False)
    space = LatentSpace.fit(encoder, [TSP(instance) for instance in data])
    env = TSP(generate_instance("tsp", size=16, seed=3))
    env.reset(seed=2)
    for _ in range(5):
        actions = env.valid_actions()
        env.step(int(actions[env.preview(actions).argmax()]))
    view = space.view(env)
    view.refresh()
    actions = view.actions()
    rows = actions.list()
    cities, vectors = view.raw(rows), actions.vectors(rows)
    rng = np.random.default_rng(4)
    proto = vectors[rng.integers(len(vectors))] + rng.normal(scale=0.8, size=view.width)
    nearest = view.raw(view.nearest(proto.astype(np.float32), 3).indices)

    figure = Figure(figsize=(12.5, 4.2), dpi=120)
    state, table, plane = figure.subplots(1, 3, gridspec_kw={"width_ratios": [1, 1.25, 1.1]})
    points = np.asarray(env.instance.arrays["coordinates"])
    tour = env.solution()
    state.plot(*points[tour].T, "-", color=BLUE, linewidth=1.3)
    state.scatter(*points.T, s=60, color=GREY, zorder=2)
    state.scatter(*points[tour].T, s=30, color=BLUE, zorder=3)
    state.scatter(*points[tour[-1:]].T, s=60, color=GREEN, zorder=4)
    for city in cities:
        state.annotate(
            str(city),
            points[city],
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=8,
            color=ORANGE if city == nearest[0] else "black",
        )
    state.set_title("1. the state: which city next?", fontsize=9)
    state.set_axis_off()

    table.imshow(vectors, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3)
    table.set_yticks(range(len(cities)), cities, fontsize=7)
    table.set_xticks([7.5, view.width - 1], ["embedding of the city", "to_current"], fontsize=7)
    table.axvline(15.5, color="black", linewidth=0.8)
    table.set_title("2. a vector per action, standardised", fontsize=9)

    stacked = np.vstack([vectors, proto])
    centred = stacked - vectors.mean(axis=0)
    flat = centred @ np.linalg.svd(centred[:-1], full_matrices=False)[2][:2].T
    plane.scatter(*flat[:-1].T, s=45, color=BLUE)
    chosen = flat[:-1][cities == nearest[0]][0]
    plane.scatter(*flat[-1], s=160, marker="*", color=ORANGE, zorder=3)
    plane.annotate("", chosen, flat[-1], arrowprops={"arrowstyle": "->", "color": ORANGE})
    for city, point in zip(cities, flat[:-1], strict=True):
        near = city in nearest
        plane.annotate(
            str(city),
            point,
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=8,
            fontweight="bold" if near else "normal",
            color=ORANGE if city == nearest[0] else "black",
        )
    plane.set_title("3. the proto-action (star) and the nearest valid action", fontsize=9)
    plane.set_xticks([])
    plane.set_yticks([])
    figure.tight_layout()
    figure.savefig(OUT)


if __name__ == "__main__":
    main()
