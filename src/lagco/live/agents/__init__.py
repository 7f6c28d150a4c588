"""Live agents: few changes in little time, learnt from a search that has more of it."""

from lagco.live.agents.agent import (
    FOLDER,
    LiveAgent,
    default_live_agent,
    is_live_agent,
    live_problems,
    load_live_agent,
)
from lagco.live.agents.training import LiveTraining, days, train_live_agent

__all__ = [
    "FOLDER",
    "LiveAgent",
    "LiveTraining",
    "days",
    "default_live_agent",
    "is_live_agent",
    "live_problems",
    "load_live_agent",
    "train_live_agent",
]
