"""Plausible mistakes, each with an error that names culprit, value and remedy.

Every row is made in Python and on the command line. ``check`` means that the conformance check
finds it, in both.
"""

from __future__ import annotations

import json
import re
import sys

import pytest

import lagco
from examples.depots import Depots
from examples.facility import Facility
from lagco.cli import main
from tests import mistaken

IN = "tests.mistaken"


def check(name: str, *said: str):
    """A mistake that the check finds."""
    cls = getattr(mistaken, name)
    return (
        (lambda _: lagco.check_problem(cls(), episodes=1)),
        f"check {IN}:{name} --episodes 1",
        said,
    )


def both(call, command: str, *said: str):
    """A mistake in a call and in the command of the same name."""
    return call, command, said


def imports(content: str, *said: str):
    """A mistake in the user's module."""

    def call(folder):
        (folder / "own_module.py").write_text(content)
        lagco.check("own_module:Problem")

    return call, "check own_module:Problem", said


def made(folder, cls=Depots, **settings):
    return lagco.generate(cls, 1, out=folder / "made", workers=1, **settings)


BRIEF = {"steps": 64, "rollout": 64, "envs": 1}
TRAIN = "--steps 64 --envs 1 --set rollout=64"

#: name to (call, command, patterns for culprit, value and remedy)
MISTAKES = {
    # names and modules
    "problem misspelled": both(
        lambda _: lagco.check("tps"), "check tps", "problem", "'tps'", "did you mean 'tsp'"
    ),
    "no such module": both(
        lambda _: lagco.check("nowhere:P"),
        "check nowhere:P",
        "module",
        "'nowhere'",
        "check its spelling",
    ),
    "no such class": both(
        lambda _: lagco.check(f"{IN}:WithArgument"),
        f"check {IN}:WithArgument",
        IN,
        "'WithArgument'",
        "did you mean 'WithArguments'",
    ),
    "attribute error in the module": imports(
        "import lagco\nx = lagco.Nodde\n", "own_module.py, line 2", "x = lagco.Nodde", "mend it"
    ),
    "key error in the module": imports(
        "d = {}\n\nd['k']\n", "own_module.py, line 3", "KeyError: 'k'", "mend it"
    ),
    "syntax error in the module": imports(
        "def f(:\n", "own_module.py, line 1", r"def f\(:", "mend it"
    ),
    "declaration misspelled": imports(
        "import lagco\nlagco.Attribute(type='binry')\n",
        "own_module.py, line 2",
        "'binry'",
        "did you mean 'binary'",
    ),
    "not a continuous environment": both(
        lambda f: lagco.train(mistaken.PlainEnv, seeds=[0], out=f / "a"),
        f"generate {IN}:PlainEnv --seeds 0 --out out",
        "FacilityEnv",
        "not a lagco.ContinuousEnv",
        "derive it",
    ),
    "constructor with arguments": both(
        lambda f: lagco.train(mistaken.WithArguments, seeds=[0], out=f / "a"),
        f"generate {IN}:WithArguments --seeds 0 --out out",
        "WithArguments",
        "'clients'",
        "give them defaults, or give a function",
    ),
    "an environment instead of its class": both(
        lambda f: lagco.train(mistaken.ENVIRONMENT, seeds=[0], out=f / "a"),
        f"generate {IN}:ENVIRONMENT --seeds 0 --out out",
        "(problem=|PROBLEM )",
        "Facility",
        "give its class Facility",
    ),
    "a number instead of a problem": both(
        lambda f: lagco.train(mistaken.NUMBER, seeds=[0], out=f / "a"),
        f"generate {IN}:NUMBER --seeds 0 --out out",
        "(problem=|PROBLEM )",
        "7",
        "module:Class",
    ),
    "a name of lagco's": both(
        lambda f: lagco.train(mistaken.Tsp, seeds=[0], out=f / "a"),
        f"generate {IN}:Tsp --seeds 0 --out out",
        "Tsp",
        "'tsp'",
        "another name",
    ),
    # declarations
    "no action declared": check("NoAction", "NoAction", "no _action_type", "declare"),
    "attribute misspelled": check(
        "UnknownAttribute", "_action_type.*'client'", "'servd'", "did you mean 'served'"
    ),
    "view misspelled": check("UnknownView", "_action_type", "'client'", "did you mean 'clients'"),
    "view left out": check("NoView", "_action_type.*'client'", "clients, sites", "needs graph="),
    "not a graph": check(
        "WrongGraph", "get_graphs.*'clients'", "is a list", "return a lagco.GraphView"
    ),
    "attribute missing on a node": check(
        "ForgottenNode", "node 99", "'served'", "give it to every node"
    ),
    "text without extractor": check("TextAttribute", "'best'", "'near' at node 0", "extractor="),
    "action space too small": check("SmallSpace", "action_space", "12 nodes", "make room for 12"),
    "sampled action invalid": check(
        "SamplesInvalid", "sample_valid_action", r"\[0, 0\]", "sample among the valid"
    ),
    "own pooling of nothing": check(
        "OwnPooling", "_observation_type", "nan", "zeros for no vectors"
    ),
    "NaN in a late state": both(
        lambda f: lagco.train(
            mistaken.NotANumber, seeds=[0], out=f / "a", method="p-discrete-m", **BRIEF
        ),
        f"train {IN}:NotANumber --data not-a-number --out a --method p-discrete-m {TRAIN}",
        "sites.away",
        "row 1 is not a finite number",
        "finite",
    ),
    "reward is None": both(
        lambda f: lagco.evaluate("random", seeds=[0], problem=mistaken.NoReward),
        f"generate {IN}:NoReward --seeds 0 --out out",
        r"NoReward.step\(\)",
        "None",
        "return a number",
    ),
    # instances
    "negative seed": both(
        lambda f: lagco.train(Facility, seeds=[-1], out=f / "a"),
        "generate examples.facility:Facility --seeds=-1 --out out",
        "seeds",
        "-1",
        "whole numbers from 0",
    ),
    "options that no file holds": both(
        lambda f: lagco.train(Facility, {"clients": object()}, f / "a"),
        "generate examples.facility:Facility --option clients --out out",
        "option",
        "(object|clients)",
        "(use numbers|write --option clients=VALUE)",
    ),
    "sizes without an option": both(
        lambda f: lagco.generate(mistaken.NoSizes, 1, sizes=9, out=f / "x"),
        f"generate {IN}:NoSizes -n 1 --sizes 9 --out out",
        "NoSizes",
        "size=9",
        "size_option",
    ),
    "nothing is drawn": both(
        lambda f: made(f, mistaken.DrawsNothing),
        f"generate {IN}:DrawsNothing -n 1 --workers 1 --out out",
        r"DrawsNothing.draw\(\)",
        "None",
        "return an Instance",
    ),
    "arrays among the parameters": both(
        lambda f: made(f, mistaken.ArraysInParams),
        f"generate {IN}:ArraysInParams -n 1 --workers 1 --out out",
        r"params\['where'\]",
        "ndarray",
        "arrays= for arrays",
    ),
    "no objective": both(
        lambda f: mistaken.NoObjective(size=9).reset(),
        f"evaluate --data depots --problem {IN}:NoObjective",
        r"NoObjective.objective\(\)",
        "None",
        "finite number",
    ),
    "parameter missing": both(
        lambda f: lagco.evaluate("random", f / "depots", problem=mistaken.MissingParameter),
        f"evaluate --data depots --problem {IN}:MissingParameter",
        "depots-42-0000",
        r"params\['k'\]",
        "it has depots",
    ),
    "best worse than worst": both(
        lambda f: made(f, mistaken.Reversed, references="sweeps", sweeps=2),
        f"generate {IN}:Reversed -n 1 --references sweeps --sweeps 2 --workers 1 --out out",
        "depots-42-0000",
        "best=.*worst=",
        "maximise = False",
    ),
    "infinite reference": both(
        lambda f: made(f, mistaken.InfiniteSweep, references="sweeps"),
        f"generate {IN}:InfiniteSweep -n 1 --references sweeps --workers 1 --out out",
        "depots-42-0000",
        "worst=inf",
        "finite",
    ),
    "sweep without sweeps": check(
        "EmptySweep", r"sweep\(\)", "without its own", "return References"
    ),
    "solution evaluated otherwise": check(
        "OtherSolution", r"evaluate_solution\(\)", "gives 1 for", "the same objective"
    ),
    "seed ignored": check("SeedIgnored", r"draw\(\)", "the same seed 42", "from the rng"),
    "data of another problem": both(
        lambda f: lagco.train(Facility, f / "depots", f / "a"),
        "train examples.facility:Facility --data depots --out a",
        "the data",
        "'depots'",
        "give data of that problem",
    ),
    "no such data": both(
        lambda f: lagco.train(Depots, f / "nowhere", f / "a"),
        "train examples.depots:Depots --data nowhere --out a",
        "nowhere",
        "no such folder",
        "no such folder",
    ),
    # arguments
    "out is a file": both(
        lambda f: lagco.train(Depots, f / "depots", f / "file"),
        "train examples.depots:Depots --data depots --out file",
        "(out=|--out )",
        "file",
        "name a folder",
    ),
    "method misspelled": both(
        lambda f: lagco.train(Depots, f / "depots", f / "a", method="projecton"),
        "train examples.depots:Depots --data depots --out a --method projecton",
        "method",
        "'projecton'",
        "did you mean 'projection'",
    ),
    "policy misspelled": both(
        lambda f: lagco.evaluate("greedi", f / "depots", problem=Depots),
        "evaluate --data depots --problem examples.depots:Depots --policy greedi",
        "policy",
        "'greedi'",
        "did you mean 'greedy'",
    ),
    "greedy without preview": both(
        lambda f: lagco.evaluate("greedy", f / "unranked", problem=mistaken.Unranked),
        "evaluate --data unranked --problem tests.mistaken:Unranked --policy greedy",
        "Unranked.preview",
        "greedy",
        "rank actions",
    ),
    "no episodes": both(
        lambda f: lagco.evaluate("random", f / "depots", problem=Depots, episodes=0),
        "evaluate --data depots --problem examples.depots:Depots --episodes 0",
        "(episodes=|--episodes )",
        "0",
        "at least one",
    ),
    "problem not said": both(
        lambda f: lagco.evaluate("random", f / "depots"),
        "evaluate --data depots",
        "depots",
        "'depots'",
        "(problem='module:Class'|--problem module:Class)",
    ),
    "start misspelled": both(
        lambda f: lagco.solve(f / "depots/0000.npz", problem=Depots, by="greedy", start="wrst"),
        "solve depots/0000.npz --problem examples.depots:Depots --by greedy --start wrst",
        "start",
        "'wrst'",
        "did you mean 'worst'",
    ),
    "no time": both(
        lambda f: lagco.solve(f / "depots/0000.npz", problem=Depots, by="greedy", seconds=0),
        "solve depots/0000.npz --problem examples.depots:Depots --by greedy --seconds 0",
        "(seconds=|--seconds )",
        "0",
        "positive time",
    ),
    "a picture of what cannot be drawn": both(
        lambda f: lagco.solve(
            f / "depots/0000.npz", problem=mistaken.Undrawn, by="greedy", drawn=True
        ),
        "solve depots/0000.npz --problem tests.mistaken:Undrawn --by greedy --plot s.png",
        "Undrawn",
        "no viewer",
        "define draw_on",
    ),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    lagco.generate(Depots, 1, sizes=9, references="none", out=folder / "depots", workers=1)
    for source, name in (
        (Facility, "facility"),
        (mistaken.Unranked, "unranked"),
        (mistaken.NotANumber, "not-a-number"),
    ):
        lagco.generate(source, seeds=[0], out=folder / name)
    (folder / "file").write_text("")
    return folder


@pytest.fixture
def folder(prepared, tmp_path, monkeypatch):
    """A folder of its own for every mistake, with the prepared data."""
    for entry in prepared.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("own_module", None)


def test_there_are_thirty_of_them():
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize("name", MISTAKES)
def test_in_python(name, folder):
    call, _, said = MISTAKES[name]
    with pytest.raises(lagco.errors.LagcoError) as caught:
        call(folder)
    for pattern in said:
        assert re.search(pattern, str(caught.value)), str(caught.value)


@pytest.mark.parametrize("name", MISTAKES)
def test_on_the_command_line(name, folder, monkeypatch, capsys):
    call, command, said = MISTAKES[name]
    if "own_module" in command:
        with pytest.raises(lagco.errors.LagcoError):  # writes the module
            call(folder)
    words = command.split()
    found = words[0] == "check"
    monkeypatch.setattr(sys, "argv", ["lagco", *words, *(["--json"] if found else [])])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    out, error = capsys.readouterr()
    if found and out:
        error = " ".join(str(value) for finding in json.loads(out) for value in finding.values())
    assert "Traceback" not in error
    for pattern in said:
        assert re.search(pattern, error), error


def test_an_error_in_the_user_s_code_shows_the_line(folder, monkeypatch, capsys):
    lagco.generate(Facility, seeds=[0], out=folder / "crashing")
    monkeypatch.setattr(mistaken.Crashing, "name", "facility", raising=False)
    command = f"evaluate --data crashing --problem {IN}:Crashing"
    monkeypatch.setattr(sys, "argv", ["lagco", *command.split()])
    with pytest.raises(SystemExit):
        main()
    error = capsys.readouterr().err
    assert "IndexError" in error
    assert re.search(r"mistaken.py, line \d+: return self.served\[action\[0\] \+ 12\]", error)


def test_a_fault_of_lagco_keeps_its_traceback(monkeypatch):
    def broken(**_):
        raise RuntimeError("not the user's")

    monkeypatch.setattr("lagco.commands.info.info", broken)
    monkeypatch.setattr(lagco, "info", broken)
    monkeypatch.setattr(sys, "argv", ["lagco", "info", "x"])
    with pytest.raises((RuntimeError, TypeError)):
        main()
