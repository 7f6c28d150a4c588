"""Encoders and decoders: what pre-training adds, and which decoder makes most of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ablation.agents import instances_of
from benchmarks.ablation.features import kept_encoder, training_of
from benchmarks.ablation.records import ENCODINGS, Record, measured, once
from lagco.agents.training.trainer import train
from lagco.instances import Instance

PROBLEMS = ("tsp", "min-vertex", "max-cut")
KINDS = ("gae", "vgae", "random", "raw")
SEEDS = (42, 100, 123)
STEPS, TAUGHT_STEPS, TESTED = 12_288, 2048, 10
DECODERS = ("nearest", "sampled", "scored", "ranked")
#: nearest actions that a decoder chooses among
K = 10


def measure(problem: str, seed: int, work: Path, features: str = "full") -> None:
    """All encoders and decoders of a problem with one seed.

    One agent learns by reinforcement, and with it the scorer; `nearest`, `sampled` and `scored`
    decode what it predicts. A ranker needs a teacher: `ranked` is an agent of its own.
    """
    instances = training_of(problem)
    tests = instances_of(problem, work)[:TESTED]
    for kind in KINDS:
        arguments = (problem, kind, seed, features, work, instances)
        for decoder in DECODERS:
            make = partial(_made, arguments, decoder, tests)
            once(ENCODINGS, f"{problem}/{features}/{kind}/{decoder}/{seed}", make)


def _made(
    arguments: tuple[str, str, int, str, Path, list[Instance]], decoder: str, tests: list[Instance]
) -> Record:
    problem, kind, seed, features, work, instances = arguments
    encoder = kept_encoder(kind, problem, seed, features, work, instances)
    taught = decoder == "ranked"
    given: dict[str, Any] = {
        "method": "soft-projection",
        "steps": STEPS,
        "decoder": "scored",
        "k": K,
    }
    if taught:
        given = {"method": "taught-projection", "steps": TAUGHT_STEPS, "rollout": 512, "epochs": 4}
        given |= {"ranker_width": 16, "ranker_layers": 1}
    folder = work / "encodings" / problem / f"{features}-{kind}-{given['method']}-{seed}"
    agent = train(
        problem, instances, folder, encoder=encoder, seed=seed, features=features, progress=False,
        **given,
    )  # fmt: skip
    return measured(agent if taught else agent.with_decoder(decoder, K), tests)
