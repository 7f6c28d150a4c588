"""The page "Run it beside your controller": its clients are run as printed, its unit is parsed."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from lagco.cli import load_command
from lagco.samples import sample
from lagco.serve.options import ServeOptions
from tests.documents import ROOT
from tests.serve.running import Running

PAGE = (ROOT / "docs" / "how-to" / "run-beside-your-controller.md").read_text()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beside")
    sample("archipelago", folder / "archipelago.txt")
    with Running(folder) as running:
        yield running


def block(language):
    """The block of the page in a language."""
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    return code


def test_the_client_in_python_runs_as_printed(running):
    code = block("python").replace("http://127.0.0.1:8080", running.url)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=running.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    before, after, *_ = done.stdout.split()
    assert float(after) <= float(before)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_client_in_curl_runs_as_printed(running):
    code = block("bash").replace("http://127.0.0.1:8080", running.url)
    done = subprocess.run(
        ["bash", "-euc", code], cwd=running.folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(text) for text in done.stdout.replace("}{", "}\n{").splitlines()]
    assert answers[1]["events"] == {"node-down": 1}
    assert answers[2]["after"] <= answers[2]["before"]
    assert answers[3].get("state") == "rejected" or "held" in answers[3]["detail"]


def test_the_unit_starts_the_service_with_options_that_it_has():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(block("ini"))
    program, command, *words = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/lagco") and command == "serve"
    _options(words)


def test_the_container_starts_the_service_with_options_that_it_has():
    (entry,) = re.findall(r"^ENTRYPOINT (\[.*\])$", block("dockerfile"), re.M)
    program, command, *words = json.loads(entry)
    assert (program, command) == ("lagco", "serve")
    assert not _options(words).on_loopback


def test_the_url_of_a_database_comes_through_the_command_line_as_it_is():
    url = "postgresql://lagco@/lagco?host=/run/postgresql"
    assert _options(["--store", url]).store == url


def _options(words):
    context = load_command("serve").make_context("serve", list(words))
    given = {name: value for name, value in context.params.items() if value is not None}
    return ServeOptions(**given)
