"""Action spaces: pictures, compactness, and the effect of pre-training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.report.blocks import Block, Grid, Heading, Plot, Shown, Together, switch
from lagco.report.palette import problems_in_order, unit_of
from lagco.report.plots import axis, figure, numbers
from lagco.report.reading import Study, grouped
from lagco.report.sections.common import slug
from lagco.report.tables import Cell, Column, Table, mark_best, plain_columns, shown, table
from lagco.study import Record

_NEIGHBOURS = ("3", "5", "10")
#: instances of a problem that are drawn at most, and points of a picture
_SHOWN, _POINTS = 2, 300


def blocks(study: Study) -> Sequence[Block] | str:
    """Pictures, cmp@k and reconstruction, per feature set."""
    records = study.records("embedding")
    if not records:
        return "The ledger holds no action spaces. lagco study embeddings --out DIR measures them."
    sets = grouped(records, lambda record: str(record.spec["features"]))
    return [
        switch(
            "Features",
            {
                features: Together(_of_features(chosen, features if len(sets) > 1 else ""))
                for features, chosen in sorted(sets.items())
            },
        )
    ]


def _of_features(records: Sequence[Record], features: str) -> list[Block]:
    names = problems_in_order(str(record.spec["problem"]) for record in records)
    ordered = sorted(records, key=lambda record: names.index(str(record.spec["problem"])))
    suffix = f"-{slug(features)}" if features else ""
    found: list[Block] = [Shown(_compactness(ordered, suffix))]
    drawn = [record for record in ordered if record.result["pictures"]]
    if drawn:
        found += [Heading("Pictures"), *_pictures(drawn)]
    if any(record.result["heads"] for record in ordered):
        found += [Heading("Reconstruction"), Shown(_heads(ordered, suffix))]
    return found


def _compactness(records: Sequence[Record], suffix: str) -> Table:
    columns = [
        *plain_columns("problem", "instances", "actions"),
        *(Column(f"cmp@{k}", f"cmp@{k}", "encoder", digits=2) for k in _NEIGHBOURS),
        *(Column(f"cmp@{k}", f"cmp@{k}", "random weights", digits=2) for k in _NEIGHBOURS),
    ]
    rows = []
    for record in records:
        result = record.result
        counts = (Cell(record.spec["instances"]), Cell(result["actions"]))
        trained, random = (
            [Cell(_finite(result[which].get(k))) for k in _NEIGHBOURS]
            for which in ("cmp", "cmp_random")
        )
        rows.append([Cell(str(record.spec["problem"])), *counts, *trained, *random])
    caption = (
        "How crowded action spaces are, after pre-training and with random weights. cmp@k is the "
        "mean distance between two actions over the mean distance to the k nearest ones, mean over "
        "unseen instances; larger means denser neighbourhoods."
    )
    return table(f"compactness{suffix}", caption, columns, rows)


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _pictures(records: Sequence[Record]) -> list[Block]:
    about = {
        "encoder": (
            "actions",
            "Actions of an unseen instance in the latent space. Projected to two dimensions by "
            "UMAP, with the cmp@k of the problem. Colour: distance from the centre of the set in "
            "the full space.",
        ),
        "random weights": (
            "random",
            "The same actions, embedded by an encoder with random weights. Colour: distance from "
            "the centre of the set in the full space.",
        ),
        "states": (
            "states",
            "Observations along random episodes on an unseen instance. Projected to two "
            "dimensions by UMAP. Colour: how far the episode is.",
        ),
    }
    variants: dict[str, Block] = {}
    for name, (part, caption) in about.items():
        plots = [
            Plot(
                _title(record, picture, "cmp_random" if part == "random" else "cmp"),
                _cloud(picture[part]),
                height=250,
            )
            for record in records
            for picture in record.result["pictures"][:_SHOWN]
            if picture.get(part) and picture[part]["x"]
        ]
        if plots:
            variants[name] = Grid(plots, caption)
    return [switch("Show", variants)] if variants else []


def _title(record: Record, picture: Mapping[str, Any], which: str) -> str:
    problem, found = str(record.spec["problem"]), record.result[which]
    values = " / ".join(shown(_finite(found.get(k)), Column("", "", digits=1)) for k in _NEIGHBOURS)
    places = "/".join(_NEIGHBOURS)
    return f"{problem}, {picture['size']} {unit_of(problem)}, cmp@{places} {values}"


def _cloud(points: Mapping[str, Any]) -> dict[str, Any]:
    shade = points.get("shade") or points.get("progress")
    every = max(1, -(-len(points["x"]) // _POINTS))
    marker = {
        "size": 5,
        "color": numbers(shade[::every], 3) if shade else "#0072b2",
        "colorscale": "Cividis",
        "opacity": 0.85,
    }
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": numbers(points["x"][::every]),
        "y": numbers(points["y"][::every]),
        "marker": marker,
        "hoverinfo": "skip",
    }
    bare = axis(showticklabels=False, ticks="", zeroline=False, showgrid=False)
    framed = bare | {"showline": True, "mirror": True}
    return figure([trace], framed, framed, margin={"l": 4, "r": 4, "t": 4, "b": 4})


def _heads(records: Sequence[Record], suffix: str) -> Table:
    columns = plain_columns(
        "problem",
        "view",
        head="reconstructed",
        measure="measure",
        trained="encoder",
        random="random weights",
    )
    rows = []
    for record in records:
        for head in record.result["heads"]:
            pair = [Cell(_finite(head["trained"])), Cell(_finite(head["random"]))]
            pair = mark_best(pair, columns[4:])
            names = (record.spec["problem"], head["view"], head["head"], head["measure"])
            rows.append([*(Cell(str(name)) for name in names), *pair])
    caption = (
        "How well attributes and edges of unseen instances can be read from embeddings. Of the "
        "pre-trained encoder, and of one with random weights whose decoder was trained as long; "
        "larger is better."
    )
    return table(f"reconstruction{suffix}", caption, columns, rows)
