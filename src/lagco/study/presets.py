"""Presets: settings of the studies by name.

``default`` is the full protocol with our training defaults, ``paper`` the same with the paper's
values; ``smoke`` runs everything end to end in minutes, ``tiny`` as little as possible of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "generalization": {
        "default": {},
        "paper": {"training": "paper", "features": ("paper",)},
        "smoke": {
            "strategies": ("small", "varied"),
            "seeds": (42,),
            "steps": (4096,),
            "instances": 10,
            "sizes": "6-12",
            "sweeps": 100,
            "episodes": 2,
            "config": {"rollout": 1024},
            "pretraining": {"states": 200, "max_steps": 50},
        },
        "tiny": {
            "problems": ("tsp", "ospf"),
            "strategies": ("small", "varied"),
            "seeds": (42,),
            "steps": (512,),
            "instances": 10,
            "sizes": "5-8",
            "sweeps": 20,
            "episodes": 2,
            "config": {"rollout": 256, "envs": 4, "epochs": 2},
            "pretraining": {"states": 60, "max_steps": 10},
        },
    },
    "scalability": {
        "default": {},
        "paper": {"features": ("paper",)},
        "smoke": {"factors": (0.2, 0.5, 1.0, 2.0), "decisions": 30, "seconds": 5.0},
        "tiny": {
            "problems": ("placement",),
            "sizes": (6, 9, 14),
            "decisions": 10,
            "seconds": 1.0,
        },
    },
    "training-time": {
        "default": {},
        "paper": {"training": "paper", "features": ("paper",)},
        "smoke": {
            "steps": 2048,
            "instances": 4,
            "sweeps": 100,
            "pretraining": {"states": 200, "max_steps": 50},
        },
        "tiny": {
            "problems": ("tsp", "ospf"),
            "methods": ("projection", "p-discrete-m"),
            "steps": 2048,
            "instances": 2,
            "sizes": "5-8",
            "sweeps": 20,
            "pretraining": {"states": 60, "max_steps": 10},
        },
    },
    "embeddings": {
        "default": {},
        "paper": {"features": ("paper",)},
        "smoke": {
            "instances": 6,
            "shown": 1,
            "states": 60,
            "pretraining": {"states": 200, "max_steps": 50},
        },
        "tiny": {
            "problems": ("tsp", "max-cut"),
            "size": 5,
            "instances": 3,
            "shown": 1,
            "drawn_states": 5,
            "states": 20,
            "pretraining": {"states": 60, "max_steps": 10},
        },
    },
    "tune": {
        "default": {},
        "paper": {"features": ("paper",), "steps": 100_000},
        "smoke": {
            "trials": 4,
            "batch": 2,
            "steps": 4096,
            "instances": 10,
            "sizes": "6-12",
            "sweeps": 100,
            "episodes": 2,
            "pretraining": {"states": 200, "max_steps": 50},
        },
        "tiny": {
            "spaces": ("projection",),
            "trials": 3,
            "batch": 2,
            "steps": 512,
            "instances": 10,
            "sizes": "5-8",
            "sweeps": 20,
            "episodes": 2,
            "config": {"envs": 4, "epochs": 2},
            "pretraining": {"states": 60, "max_steps": 10},
        },
    },
}
