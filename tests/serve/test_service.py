"""The decision service as its clients see it: live instances, decisions, refusals, guarantees."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys

import numpy as np
import pytest

from lagco.client import Decision, ServiceError, multipart
from lagco.core.changes import incumbent_of, judge
from lagco.errors import CheckError, MissingExtra, UsageError
from lagco.instances.timelines import Timeline
from lagco.live import live
from lagco.live.contract import in_force, live_instance
from lagco.problems.ospf import OSPF
from lagco.serve import serve
from tests.serve.running import DAY, FILE, NETWORK, Running
from tests.shared_instances import shared_instance

TURNS = {"by": "greedy", "turns": 3, "max_changes": 2}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("serve"), "--max-nodes", "50") as running:
        yield running


@pytest.fixture
def network(running):
    live = running.client().create(FILE)
    yield live
    live.delete()


def test_a_live_instance_is_what_was_sent(running, network):
    state = network.state()
    assert state["problem"] == "ospf" and state["size"] == NETWORK.size
    start = live_instance(OSPF, NETWORK, None)
    assert state["objective"] == judge(OSPF, start, incumbent_of(OSPF, start)).objective
    assert list(state["configuration"]) == OSPF.element_names(NETWORK)
    assert len(state["picture"]["links"]) == NETWORK.size
    assert network.id in [one.id for one in running.client().instances()]


def test_decisions_are_feasible_within_budget_and_better_judged_from_scratch(network):
    instance = live_instance(OSPF, NETWORK, 2)
    for number, (_, event, _) in enumerate(DAY):
        told = network.tell(event.as_dict())
        instance = OSPF.after(instance, event).instance
        held = judge(OSPF, instance, incumbent_of(OSPF, instance))
        assert told["objective"] == held.objective
        decision = network.decide(**TURNS, seed=number)
        solution = np.array(incumbent_of(OSPF, instance))
        for row, value in decision.rows:
            solution[row] = value
        verdict = judge(OSPF, instance, solution)
        assert (decision.before, decision.after) == (held.objective, verdict.objective)
        assert not verdict.faults and len(decision.changes) == verdict.changes <= 2
        assert verdict.objective <= held.objective
        if decision.rows:
            network.confirm(decision)
            instance = in_force(OSPF, instance, solution)
    assert network.metrics()["decisions"] == number + 1


def test_a_decision_is_confirmed_once_and_can_be_taken_back(network):
    before = network.state()["objective"]
    decision = network.decide(**TURNS)
    assert decision.state == "proposed" and decision.after < before
    assert network.state()["objective"] == before
    assert network.confirm(decision)["objective"] == decision.after
    with pytest.raises(ServiceError, match="is confirmed, not proposed"):
        network.confirm(decision)
    assert network.undo(decision)["objective"] == before
    kinds = [entry["kind"] for entry in network.history()]
    assert kinds == ["decision", "confirm", "undo"]
    other = network.decide(**TURNS, confirm=True)
    assert other.state == "confirmed" and network.state()["objective"] == other.after


def test_what_does_not_fit_any_more_is_refused(network):
    first, second = network.decide(**TURNS), network.decide(**TURNS)
    network.confirm(first)
    with pytest.raises(ServiceError, match="has changed since") as caught:
        network.confirm(second)
    assert caught.value.status == 409
    network.reject(second)
    third = network.decide(by="solver", turns=5, max_changes=3)
    source, _, target = next(iter(network.state()["configuration"])).partition("-")
    network.tell({"event": "link-down", "source": source, "target": target})
    if third.rows:
        with pytest.raises(ServiceError, match="come or gone"):
            network.confirm(third)


def test_events_happen_all_or_none(network):
    good = {"event": "link-down", **_link(network)}
    with pytest.raises(ServiceError, match="unknown node 'nowhere'") as caught:
        network.tell(good, {"event": "node-down", "node": "nowhere"})
    assert caught.value.status == 422
    assert network.state()["version"] == 0
    assert network.tell(good)["events"] == {"link-down": 1}
    for wrong in ({}, {"events": []}, {"events": [1]}, {"events": [{"event": 3}]}, [], 7):
        status, problem = _post(network, "events", wrong)
        assert status == 422 and problem["status"] == 422


def test_the_same_request_is_carried_out_once(running, network):
    path, key = f"/v1/instances/{network.id}", {"Idempotency_Key": "once"}
    event = {"events": [{"event": "link-down", **_link(network)}]}
    told = [running.post(f"{path}/events", event, **key) for _ in range(2)]
    assert told[0] == told[1] and told[0][0] == 200
    kept = [running.post(f"{path}/decisions", TURNS, Idempotency_Key="d") for _ in range(2)]
    assert kept[0] == kept[1]
    assert running.post(f"{path}/events", event, Idempotency_Key="d")[0] == 409
    assert len(network.history()) == 2
    kind, body = multipart({"file": FILE}, {})
    made = [
        json.loads(
            running.raw("POST", "/v1/instances", body, Content_Type=kind, Idempotency_Key="m")[2]
        )["id"]
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_better_objectives_are_streamed_before_the_decision(network):
    *better, decision = network.improvements(by="solver", turns=10)
    assert isinstance(decision, Decision)
    assert better and better == sorted(better, reverse=True)
    assert better[-1] == decision.after < decision.before


def test_an_instance_that_is_not_kept_is_decided_on_likewise(running, network):
    once = running.client().decide(FILE, **TURNS)
    kept = network.decide(**TURNS, round=0)
    assert (once.rows, once.before, once.after) == (kept.rows, kept.before, kept.after)


def test_a_deadline_that_cannot_be_met_is_answered_by_the_incumbent(network):
    decision = network.decide(by="solver", deadline_ms=1.0)
    assert decision.after == decision.before and not decision.changes


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("/etc/passwd", b"root", "passwd: unknown format"),
        ("a.npz", b"PK\x03\x04", "a.npz: not a readable lagco instance"),
        ("b.xml", b"<network", "b.xml"),
        ("big.npz", None, "has 60 nodes; at most 50"),
    ],
)
def test_files_that_cannot_be_used_are_refused_without_paths(running, name, content, says):
    if content is None:
        from lagco.instances.native import instance_bytes

        content = instance_bytes(OSPF.generate(60, seed=1))
    with pytest.raises(ServiceError, match=says) as caught:
        running.client().create((name, content))
    assert caught.value.status == 422
    assert "/" not in str(caught.value).replace("lagco reads", "")


@pytest.mark.parametrize("path", ["/v1/instances", "/v1/decide"])
def test_fields_of_a_form_that_would_not_count_are_refused(running, path):
    kind, body = multipart({"file": FILE, "demand": ("d.csv", b"")}, {})
    status, _, content = running.raw("POST", path, body, Content_Type=kind)
    assert status == 422 and "unknown field 'demand': did you mean 'demands'" in content.decode()
    kind, body = multipart({"file": FILE}, {"max_changes": 3})
    mark = b"--" + kind.partition("boundary=")[2].encode()
    twice = mark + body.split(mark)[2] + body
    status, _, content = running.raw("POST", path, twice, Content_Type=kind)
    assert status == 422 and "max_changes: stands there 2 times; give it once" in content.decode()


def test_refusals_are_problem_documents(running, network):
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/instances/none", 404),
        ("PUT", "/v1/instances", 405),
        ("GET", f"/v1/instances/{network.id}/decisions/99", 404),
        ("POST", f"/v1/instances/{network.id}/decisions/99/confirm", 404),
        ("GET", f"/v1/instances/{network.id}/history?after=-1", 422),
    ):
        found, headers, content = running.raw(method, path)
        assert found == status == json.loads(content)["status"], path
        assert headers["Content-Type"] == "application/problem+json"
    assert _post(network, "decisions", {"by": "nobody"})[0] == 422
    assert _post(network, "decisions", {"deadline_ms": 0})[0] == 422
    assert _post(network, "decisions", {"colour": 1})[0] == 422


def test_pages_of_other_sites_and_other_names_are_turned_away(running):
    assert running.raw("GET", "/v1/instances", Origin="http://evil.example")[0] == 403
    assert running.raw("GET", "/v1/instances", Sec_Fetch_Site="cross-site")[0] == 403
    assert running.raw("GET", "/v1/instances", Host="evil.example")[0] == 421
    status, headers, _ = running.raw("GET", "/v1/instances")
    assert status == 200 and "Access-Control-Allow-Origin" not in headers


def test_requests_are_limited_in_size(running, network):
    large = b" " * (9 << 20)
    status, _, _ = running.raw("POST", f"/v1/instances/{network.id}/events", large)
    assert status == 413
    assert running.raw("POST", f"/v1/instances/{network.id}/decisions", b" " * 70_000)[0] == 413


def test_a_killed_worker_is_replaced_and_loses_nothing(running, network):
    network.tell({"event": "link-down", **_link(network)})
    before = network.state()
    for pid in running.children():
        os.kill(pid, signal.SIGKILL)
    running.wait_until_ready()
    after = network.state()
    assert after == before
    assert "Z" not in running.children().values()


def test_a_stopped_worker_delays_no_answer(running, network):
    before = network.state()["objective"]
    (worker,) = running.workers()
    os.kill(worker, signal.SIGSTOP)
    try:
        decision = network.decide(by="greedy", deadline_ms=50.0)
    finally:
        os.kill(worker, signal.SIGCONT)
    assert decision.late and decision.state == "held"
    assert decision.before == decision.after == before
    assert network.decide(**TURNS).changes


def test_figures_count_decisions(running, network):
    network.decide(**TURNS)
    text = running.raw("GET", "/metrics")[2].decode()
    assert 'lagco_decisions_total{by="greedy",outcome="changes"}' in text
    assert "lagco_workers 1.0" in text
    assert running.raw("GET", "/healthz")[0] == 200


def test_a_replay_at_the_service_is_that_of_one_process(running):
    words = {"controllers": "greedy,solver", "turns": 3, "max_changes": 2, "progress": False}
    day = Timeline.of(NETWORK, [(m.time, m.event) for m in DAY])
    here = live(day, problem="ospf", **words)
    there = live(day, problem="ospf", server=running.url, **words)
    assert list(there.records) == list(here.records)
    assert sum(record.changes for record in here.records) > 0


@pytest.mark.slow
def test_a_day_of_geant_at_the_service_is_that_of_one_process(running):
    network = shared_instance("sndlib_dynamic/geant.xml")
    series = shared_instance("sndlib_dynamic/geant-15min-20050504-05.tgz")
    words = {"series": series, "problem": "ospf", "controllers": "greedy", "turns": 5}
    words |= {"max_changes": 3, "progress": False}
    here, there = (live(network, server=url, **words) for url in (None, running.url))
    assert list(there.records) == list(here.records)


def test_what_was_acknowledged_survives_and_the_log_replays_to_the_same_bits(tmp_path):
    with Running(tmp_path) as first:
        network = first.client().create(FILE)
        for number, (_, event, _) in enumerate(DAY):
            network.tell(event.as_dict())
            network.decide(**TURNS, confirm=number % 2 == 0)
        network.decide(by="greedy", deadline_ms=60_000.0)  # which it keeps however busy all is
        before = network.state(), network.history(limit=1000)
        first.process.kill()
    with Running(tmp_path) as second:
        again = next(iter(second.client().instances()))
        assert (again.state(), again.history(limit=1000)) == before
        with pytest.raises(UsageError, match="another lagco serve"):
            serve(store=str(tmp_path / "lagco-serve.db"), problems="ospf", port=0)
        assert second.stop() == 143
    said = []
    serve(store=str(tmp_path / "lagco-serve.db"), audit=True, tell=said.append)
    assert said == [
        f"{number + 1} decisions made again and 1 decision weighed again, all to the same bits"
    ]
    _damage(tmp_path / "lagco-serve.db")
    with pytest.raises(CheckError, match="before was"):
        serve(store=str(tmp_path / "lagco-serve.db"), audit=True)


def test_tokens_have_scopes(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("# of the tests\nread looks-at-everything\nwrite does-everything-there\n")
    with Running(tmp_path, "--tokens", str(tokens)) as running:
        reader, writer = (
            {"Authorization": f"Bearer {token}"}
            for token in ("looks-at-everything", "does-everything-there")
        )
        assert running.raw("GET", "/v1/instances")[0] == 401
        assert running.raw("GET", "/metrics")[0] == 401
        assert (
            running.raw("GET", "/v1/instances", Authorization="Bearer wrong-token-here")[0] == 401
        )
        assert running.raw("GET", "/v1/instances", **reader)[0] == 200
        assert running.raw("POST", "/v1/instances", b"", **reader)[0] == 403
        assert running.raw("POST", "/v1/instances", b"", **writer)[0] == 422
        assert running.raw("GET", "/readyz")[0] == 200
        assert running.raw("GET", "/")[0] == 200


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"host": "0.0.0.0"}, "needs tokens"),
        ({"controllers": "gredy"}, "did you mean 'greedy'"),
        ({"port": 70000}, "port=70000"),
        ({"queue": 0}, "queue=0"),
        ({"tokens": "no-such-file"}, "tokens=no-such-file"),
        ({"colour": "red"}, "unknown option 'colour'"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused(options, says):
    with pytest.raises(UsageError, match=says):
        serve(**options)


def test_without_the_extra_it_says_which(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(MissingExtra, match=r"lagco\[serve\]"):
        serve()


def _post(network, what, content):
    path = f"/v1/instances/{network.id}/{what}"
    client = network._client
    try:
        return 200, client.ask("POST", path, content)
    except ServiceError as error:
        return error.status, {"status": error.status}


def _link(network):
    picture = network.state()["picture"]
    link, names = picture["links"][0], [node["name"] for node in picture["nodes"]]
    return {"source": names[link["source"]], "target": names[link["target"]]}


def _damage(path):
    import sqlite3

    with sqlite3.connect(path) as store:
        ((seq, body),) = store.execute(
            "SELECT seq, body FROM lagco_log WHERE kind = 'decision' ORDER BY seq LIMIT 1"
        )
        content = json.loads(body)
        content["before"] += 1.0
        store.execute("UPDATE lagco_log SET body = ? WHERE seq = ?", (json.dumps(content), seq))


def test_no_request_is_handed_to_a_thread():
    """Threads wait for each other: under load, answers would come after their deadlines."""
    from lagco.serve.serving import decision_routes, instance_routes

    waiting = [
        route.dependant
        for part in (decision_routes, instance_routes)
        for route in part.router.routes
    ]
    seen = 0
    while waiting:
        one = waiting.pop()
        assert inspect.iscoroutinefunction(one.call), one.call
        waiting.extend(one.dependencies)
        seen += 1
    assert seen > 20
