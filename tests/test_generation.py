"""Generating data sets: the same bytes for any number of workers, and after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import lagco
from lagco.commands.generate import generate_instance
from lagco.errors import InstanceError, UsageError
from tests.killed import killed_at


def contents(folder):
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name != "timings.json"
    }


@pytest.mark.parametrize("problem", ["tsp", "min-vertex", "max-cut"])
def test_one_or_two_workers_write_the_same_bytes(tmp_path, problem):
    for workers in (1, 2):
        lagco.generate(
            problem,
            6,
            seed=7,
            out=tmp_path / str(workers),
            sweeps=20,
            sizes="8-14",
            workers=workers,
            progress=False,
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_folder_is_taken_from_where_the_caller_is_now(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        data = lagco.generate("tsp", 2, sizes=8, sweeps=2, out="data", workers=2, progress=False)
        assert len(list(data)) == 2


def test_an_instance_does_not_depend_on_how_many_there_are(tmp_path):
    few = lagco.generate(
        "tsp", 2, out=tmp_path / "few", references="none", workers=1, progress=False
    )
    many = lagco.generate(
        "tsp", 5, out=tmp_path / "many", references="none", workers=1, progress=False
    )
    assert few[1].checksum == many[1].checksum == generate_instance("tsp", index=1).checksum
    assert few[1].checksum != few[0].checksum
    assert few[1].references.sweeps is None


@pytest.mark.parametrize("problem", ["tsp", "min-vertex", "max-cut"])
def test_sizes_stay_in_the_papers_ranges(problem):
    sizes = [generate_instance(problem, index=index).size for index in range(60)]
    assert min(sizes) >= 10
    assert max(sizes) <= (50 if problem == "min-vertex" else 100)
    assert len(set(sizes)) > 20


def test_a_killed_run_goes_on_and_ends_the_same(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    options = {"sizes": "10-20", "sweeps": 20, "workers": 1, "progress": False}
    script = f"import lagco; lagco.generate('tsp', 8, out={str(killed)!r}, **{options})"
    dying = killed_at("*/0004.npz", tmp_path / "marker")
    assert subprocess.run([sys.executable, "-c", script], env=dying).returncode == -signal.SIGKILL
    assert not (killed / "manifest.json").exists()
    with pytest.raises(InstanceError, match=r"holds no manifest\.json; is it complete"):
        lagco.info(killed)
    stamp = (killed / "0000.npz").stat().st_mtime_ns
    for out in (whole, killed):
        lagco.generate("tsp", 8, out=out, **options)
    assert (killed / "0000.npz").stat().st_mtime_ns == stamp
    assert contents(killed) == contents(whole)


def test_another_data_set_is_left_alone(tmp_path):
    lagco.generate("tsp", 2, out=tmp_path, references="none", workers=1, progress=False)
    before = contents(tmp_path)
    with pytest.raises(InstanceError, match="seed is 42 there and 1 here"):
        lagco.generate("tsp", 2, seed=1, out=tmp_path, references="none", progress=False)
    assert contents(tmp_path) == before
    assert (
        len(lagco.generate("tsp", 4, out=tmp_path, references="none", workers=1, progress=False))
        == 4
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(n=0), "n=0"),
        (dict(seed=-1), "seed=-1"),
        (dict(sizes="ten"), "sizes='ten'"),
        (dict(sizes="20-10"), "the range is empty"),
        (dict(sizes="0,5"), "sizes must be positive"),
        (dict(references="sweep"), "unknown reference 'sweep': did you mean 'sweeps'"),
        (dict(sweeps=0), "sweeps=0"),
        (dict(options={"profile": "open"}), "'profile': the generator of tsp has no options"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        lagco.generate("tsp", out=tmp_path / "x", progress=False, **options)
    assert not (tmp_path / "x").exists()


def test_options_reach_the_generator_and_are_part_of_the_recipe(tmp_path):
    def make(out, options):
        recipe = dict(references="none", sizes=8, workers=1, progress=False)
        return lagco.generate("cyber-path", 2, out=tmp_path / out, options=options, **recipe)

    plain, opened = make("plain", None), make("open", {"profile": "open"})
    assert "vigilance" in plain[0].params
    assert "vigilance" not in opened[0].params
    assert opened[0].origin["options"] == {"profile": "open"}
    one = generate_instance("cyber-path", size=8, options={"profile": "open"})
    assert opened[0].checksum == one.checksum
    with pytest.raises(InstanceError, match="options is {'profile': 'open'} there and None here"):
        make("open", None)
    with pytest.raises(UsageError, match="unknown option 'profil': did you mean 'profile'"):
        make("other", {"profil": "open"})


def test_a_missing_extra_is_reported_by_name(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    with pytest.raises(
        lagco.errors.MissingExtra,
        match=r"'ortools', which the extra 'solvers' brings: pip install 'lagco\[solvers\]'",
    ):
        generate_instance("min-vertex", size=5, references="solver")
