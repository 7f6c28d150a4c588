"""The command imports modules from the working directory only where the user has named one."""

import os
import subprocess
import sys

import pytest

#: as the script that is installed, and as a module: Python puts the working directory first then
COMMANDS = [
    [sys.executable, "-P", "-c", "from lagco.cli import main; main()"],
    [sys.executable, "-m", "lagco"],
]


def called(*words, folder, command=COMMANDS[0]):
    shadow = "raise SystemExit('a module beside the data was imported')"
    for name in ("random", "numpy", "secrets"):
        (folder / f"{name}.py").write_text(shadow)
    return subprocess.run(
        [*command, *words], cwd=folder, capture_output=True, text=True, env=dict(os.environ)
    )


@pytest.mark.parametrize("words", [("problems",), ("solve", "--help"), ("solve", "a.tsp")])
@pytest.mark.parametrize("command", COMMANDS)
def test_modules_beside_the_data_are_not_imported(command, words, tmp_path):
    done = called(*words, folder=tmp_path, command=command)
    assert "a module beside the data" not in done.stdout + done.stderr


def test_a_module_that_the_user_names_is_found_and_takes_the_place_of_none(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import random\nfrom lagco.problems.tsp.env import TSP as Mine\n"
    )
    done = called("check", "mine:Nothing", folder=tmp_path)
    assert "a module beside the data" not in done.stdout + done.stderr
    assert "mine" in done.stderr and "Nothing" in done.stderr


def test_a_misspelt_name_is_compared_with_what_the_module_defines(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from lagco import Problem\n\n\nclass Colours(Problem):\n    pass\n"
    )
    done = called("check", "mine:Colors", folder=tmp_path)
    assert "did you mean 'Colours'? known are Colours" in " ".join(done.stderr.split())
    assert "Problem" not in done.stderr
