"""Code blocks and commands of the documents, and how they are run.

A page is run from top to bottom in an empty folder, its Python blocks in one namespace. Blocks
without a language hold commands. A comment in the line before a block changes that:

``<!-- not run: why -->``       checked, but not run: Python compiles, commands exist
``<!-- from: FILE -->``         stands in that file of the repository, which is tested elsewhere
``<!-- file: NAME -->``         is written to that file, for the blocks after it
``<!-- run first: CODE -->``    Python that readers need not see

Notebooks are pages of Python blocks.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}
NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))}

#: languages of blocks that hold neither Python nor commands
PLAIN = ("json", "text", "toml", "csv", "ini", "bash", "dockerfile")
_MARK = re.compile(r"<!-- (not run|from|file|run first):\s*(.*?)\s*-->", re.S)
_BLOCK = re.compile(
    r"(?P<mark><!-- (?:not run|from|file): [^\n]*-->)?\s*?\n?"
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=indent)```$"
    r"|^(?P<hidden><!-- run first:.*?-->)",
    re.M | re.S,
)
#: files that pages speak of, and what stands in for them
FILES = {
    "berlin52.tsp": "towns.tsp",
    "berlin52.opt.tour": "towns.tour",
    "abilene.txt": "islands.txt",
    "polska.txt": "islands.txt",
    "G14": "ring.rud",
    "Geant2012.graphml": "backbone.graphml",
    "demands.csv": "backbone-demands.csv",
}
#: settings as they are for a reader, and as they are tested
BRIEF = (
    (r"--steps \d+", "--steps 512"),
    (r"\bsteps=[\d_]+", "steps=512"),
    (r"rollout=[\d_]+", "rollout=256"),
    (r"-n \d+", "-n 4"),
    (r"(generate\([^,\n]+, )\d+", r"\g<1>4"),
    (r"(--sizes |sizes=\")[\d-]+", r"\g<1>8-12"),
    (r"--preset smoke", "--preset tiny"),
    (r"preset=\"smoke\"", 'preset="tiny"'),
    (r"--seeds 0-99", "--seeds 0-5"),
    (r"range\(\d+\)", "range(6)"),
    (r"--trials \d+", "--trials 2"),
    (r"(lagco train \S+ --method \S+)(?=\n|$)", r"\1 --steps 512 --set rollout=256"),
    (r"--seconds \d+", "--seconds 1"),
    (r"(study \w+ (?!.*--preset).*--out \S+)", r"\1 --preset tiny"),
)


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes:
        page: its name.
        language: ``python``, ``commands`` or one that is not run.
        code: its text.
        mark: what is done with it instead of running it, if anything.
        value: what stands behind the mark: a reason, or a file.
    """

    page: str
    language: str
    code: str
    mark: str = ""
    value: str = ""

    def commands(self) -> list[list[str]]:
        """The words of every command; a backslash goes on with the next line."""
        lines = self.code.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def blocks(page: str) -> list[Block]:
    """Blocks of a document in their order."""
    found = []
    for match in _BLOCK.finditer(PAGES[page].read_text()):
        kind, value = "", ""
        marked = match["hidden"] or match["mark"]
        if marked:
            kind, value = _MARK.fullmatch(marked).groups()
        if match["hidden"]:
            found.append(Block(page, "python", dedent(value), "run first"))
            continue
        language = match["language"] or "commands"
        found.append(Block(page, language, dedent(match["code"]), kind, value))
    return found


def cells(notebook: str) -> list[str]:
    """Python of a notebook, cell by cell."""
    document = json.loads(NOTEBOOKS[notebook].read_text())
    return ["".join(c["source"]) for c in document["cells"] if c["cell_type"] == "code"]


def brief(code: str) -> str:
    """The same with small settings."""
    for long, short in BRIEF:
        code = re.sub(long, short, code)
    return code


def check(block: Block) -> None:
    """Whether a block could run: Python compiles, commands, options, files and targets exist."""
    if block.mark == "from":
        there = " ".join((ROOT / block.value).read_text().split())
        assert " ".join(block.code.split()) in there, f"not in {block.value}:\n{block.code}"
    elif block.language == "python":
        ast.parse(block.code)
    elif block.language == "commands":
        for words in block.commands():
            check_command(words)
    else:
        assert block.language in PLAIN, f"```{block.language}: neither Python, commands nor {PLAIN}"


def check_command(words: list[str]) -> None:
    """Whether a command exists and has such options."""
    name, *rest = words
    if name == "lagco":
        import typer

        from lagco.cli import app

        command, parent = typer.main.get_command(app), None
        while True:
            context = command.make_context(name, list(rest), parent=parent)
            if not hasattr(command, "resolve_command"):
                return
            left = [*getattr(context, "_protected_args", []), *context.args]
            name, command, rest = command.resolve_command(context, left)
            parent = context
    elif name == "make":
        target = rest[0].partition("=")[0]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), words
    elif name == "python":
        file = ROOT / (rest[1].replace(".", "/") if rest[0] == "-m" else rest[0])
        source = ROOT / "src" / file.relative_to(ROOT)
        assert any(p.exists() for f in (file, source) for p in (f, f.with_suffix(".py"))), words
    else:
        assert name in ("pip", "ray", "ssh", "git", "pre-commit"), f"unknown command {words}"


def run(page: str, folder: Path) -> None:
    """Run a page in a folder, which is the working folder."""
    text = PAGES[page].read_text()
    for name, stand_in in FILES.items():
        if name in text:
            (folder / name).write_bytes((DATA / stand_in).read_bytes())
    namespace: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks(page)):
        if block.mark == "file":
            (folder / block.value).write_text(block.code)
        if block.mark in ("not run", "from"):
            continue
        if block.language == "python":
            code = block.code if block.mark == "run first" else brief(block.code)
            exec(compile(code, f"{page}, block {number + 1}", "exec"), namespace)
        elif block.language == "commands":
            for words in Block(page, "commands", brief(block.code)).commands():
                run_command(words)


def run_command(words: list[str]) -> None:
    """Run a command of lagco; of others it is checked that they exist."""
    check_command(words)
    if words[0] != "lagco":
        return
    from typer.testing import CliRunner

    from lagco.cli import app

    result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    if result.exit_code:
        pytest.fail(f"{shlex.join(words)}: exit code {result.exit_code}\n{result.output}")
