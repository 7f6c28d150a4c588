"""Events under a running state, compared with the changed instance loaded from scratch."""

import itertools

import numpy as np
import pytest

from lagco.agents.shipped import default_agent, shipped_problems
from lagco.core.events import Event, events_schema
from lagco.errors import InstanceError
from lagco.problem_table import ENTRIES
from lagco.store import Mismatch, check

CHANGING = [name for name, entry in ENTRIES.items() if entry.load().events]
SIZES = {"ospf": 8, "traffic": 8, "placement": 12, "cyber-path": 8}
EVENTS = 12


def begun(name, features="full"):
    cls = ENTRIES[name].load()
    env = cls(cls.generate(SIZES.get(name, 10), seed=3), features=features, start="default")
    env.reset(seed=5)
    return env


def drawn(env, seed=1):
    """Synthetic events, with options that let all kinds happen."""
    options = {"failures": 0.5} if "link-down" in env.events else {}
    draw = type(env).draw_events(env.instance, np.random.default_rng(seed), **options)
    return [event for _, event in itertools.islice(draw, EVENTS)]


def afresh(env):
    """The same instance, loaded from scratch, in the same state."""
    fresh = type(env)(env.instance, features=env.features, start="current")
    held = type(env).present is not None and not env.builds_up
    fresh.reset(seed=5, options=None if held else {"start": env.event_state()})
    return fresh


def assert_same_state(env, fresh):
    assert env.objective() == fresh.objective()
    np.testing.assert_array_equal(env.solution(), fresh.solution())
    assert env.observation_space == fresh.observation_space
    seen, expected = env.observation(), fresh.observation()
    assert seen.keys() == expected.keys()
    for name, column in expected.items():
        np.testing.assert_array_equal(seen[name], column, err_msg=name)
    for name, view in fresh.graph_views().items():
        own = env.graph_views()[name]
        np.testing.assert_array_equal(own.edges, view.edges)
        for columns, others in (
            (own.nodes, view.nodes),
            (own.edge_attributes, view.edge_attributes),
        ):
            assert columns.keys() == others.keys()
            for key in columns:
                if isinstance(others[key], list):  # of lists of different lengths
                    assert columns[key] == others[key]
                    continue
                np.testing.assert_array_equal(columns[key], others[key], err_msg=key)
    np.testing.assert_array_equal(env.action_mask(), fresh.action_mask())


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", CHANGING)
def test_a_state_after_events_is_that_of_the_changed_instance_from_scratch(name, features):
    env = begun(name, features)
    rng = np.random.default_rng(7)
    for event in drawn(env):
        if env.has_valid_action() and not env.is_complete():
            env.step(env.sample_valid_action(rng))
        env.apply(event)
        assert_same_state(env, afresh(env))
        assert env.steps_taken == 0


@pytest.mark.parametrize("name", sorted(set(CHANGING) & set(shipped_problems())))
def test_agents_observe_and_decide_as_they_do_from_scratch(name):
    env = begun(name)
    agent = default_agent(name)
    actor, rng = agent.actor(env), np.random.default_rng(7)
    for event in drawn(env, seed=2)[:6]:
        if env.has_valid_action() and not env.is_complete():
            env.step(actor.act(rng, False))
        env.apply(event)
        fresh = afresh(env)
        seen, expected = actor.observe(), agent.actor(fresh).observe()
        np.testing.assert_allclose(seen, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CHANGING)
def test_synthetic_events_fit_their_schema_and_are_the_same_for_a_seed(name):
    env = begun(name)
    schema = events_schema(env.events)
    events = drawn(env)
    for event in events:
        check({"time": 0.0, **event.as_dict()}, schema)
    assert events == drawn(env)
    with pytest.raises(Mismatch):
        check({"time": 0.0, "event": "no such"}, schema)


@pytest.mark.parametrize("name", CHANGING)
def test_events_that_do_not_fit_change_nothing(name):
    env = begun(name)
    before, state = env.instance, env.solution()
    with pytest.raises(InstanceError, match="did you mean|known are"):
        env.apply(Event("no-such"))
    for kind, known in env.events.items():
        required = [field for field, form in known.fields.items() if not form.optional]
        with pytest.raises(InstanceError, match=f"event '{kind}': has no '{required[0]}'"):
            env.apply({"event": kind})
    assert env.instance is before
    np.testing.assert_array_equal(env.solution(), state)
