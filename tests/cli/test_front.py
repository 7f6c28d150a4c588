"""First contact: help, samples, agents, information, and words that are misspelt."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import lagco
from lagco.agents.shipped import list_agents, shipped_problems
from lagco.cli import COMMANDS, main
from lagco.cli.studies.study import STUDIES
from lagco.errors import LagcoError
from lagco.instances.formats import read
from lagco.samples import SAMPLES
from lagco.study import export
from lagco.study.settings import SETTINGS
from tests.report.fabricated import Extent, write_ledger


@pytest.fixture
def run(monkeypatch, capsys):
    """A command in this process: exit code, output and errors."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["lagco", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    yield command
    lagco.runtime.progress.silence(False)


def test_help_names_every_command_and_imports_none():
    script = (
        "import sys; sys.argv = ['lagco', '-h']\n"
        "from lagco.cli import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numba', 'scipy', 'stable_baselines3', 'lagco.study', 'lagco.cli.studies.study'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, run):
    code, shown, _ = run(name, "-h")
    assert code == 0 and "Usage" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_version_and_completion(run):
    assert run("--version") == (0, f"lagco {lagco.__version__}\n", "")
    assert "--install-completion" in run("--help")[1]


@pytest.mark.parametrize("study", STUDIES)
def test_options_of_a_study_are_its_settings(study, run):
    from dataclasses import fields

    code, shown, _ = run("study", study, "--help")
    assert code == 0
    for field in fields(SETTINGS[study]):
        wanted = not str(field.type).startswith("Mapping")
        assert (f"--{field.name.replace('_', '-')} " in shown) == wanted
    assert list(STUDIES) == list(SETTINGS)
    assert "default:" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "unknown command 'trian': did you mean 'train'?"),
        (["study", "tun", "--out", "x"], "unknown study 'tun': did you mean 'tune'?"),
        (["sample", "cost52"], "unknown sample 'cost52': did you mean 'coast52'?"),
        (["evaluate", "--policy", "grady", "--data", "x"], "did you mean 'greedy'?"),
        (
            ["evaluate", "--decoder", "nearest", "--data", "x"],
            "--decoder nearest: applies to agents",
        ),
        (["evaluate", "tps", "--data", "x"], "tps: no such folder, and unknown agent 'tps'"),
        (["train", "tps", "--data", "x", "--out", "y"], "unknown problem 'tps': did you mean"),
        (["check", "tps"], "unknown problem 'tps': did you mean"),
        (["pretrain", "tps", "--data", "x", "--out", "y"], "unknown problem 'tps': did you mean"),
        (["embed", "tps", "--data", "x"], "unknown problem 'tps': did you mean"),
        (["bench", "encode", "--problem", "tps"], "unknown problem 'tps': did you mean"),
        (["study", "tune", "--out", "x", "--problems", "tps"], "unknown problem 'tps'"),
        (
            ["train", "tsp", "--data", "x", "--out", "y", "--evaluate-every", "1e3"],
            "--evaluate-every 1000: needs --validation",
        ),
    ],
)
def test_words_that_are_misspelt_or_do_not_apply(words, message, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, errors = run(*words)
    assert code == 1
    assert message in " ".join(errors.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_what_they_say(name, run, tmp_path):
    entry = SAMPLES[name]
    code, shown, _ = run("sample", name, "--out", tmp_path)
    assert code == 0 and f"lagco solve {tmp_path / entry.file}"[:40] in shown.replace("\n", "")
    instance = read(tmp_path / entry.file, entry.problem if entry.named else None)
    assert instance.problem == entry.problem
    env = lagco.problems.problem_class(entry.problem)(instance)
    env.reset(seed=0)
    assert env.has_valid_action()
    (tmp_path / entry.file).write_text("another")
    with pytest.raises(lagco.errors.UsageError, match="is there already and differs"):
        lagco.sample(name, tmp_path)


def test_samples_are_listed(run):
    assert all(name in run("sample")[1] for name in SAMPLES)


def test_a_problem_names_its_first_sample(run, tmp_path):
    code, shown, _ = run("sample", "ospf", "--out", tmp_path)
    assert code == 0 and "12 islands" in shown
    assert (tmp_path / "archipelago.txt").is_file()


def test_a_first_call_says_that_it_compiles(run, tmp_path, monkeypatch):
    lagco.sample("coast52", tmp_path)
    words = ("solve", tmp_path / "coast52.tsp", "--by", "greedy", "--turns", "1")
    assert "compiles" not in run(*words)[2]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert "`lagco warm`" in run(*words)[2]


def test_agents_are_listed_with_figures_of_these_very_weights(run, monkeypatch):
    code, shown, _ = run("agents")
    assert code == 0 and all(name in shown for name in shipped_problems())
    assert max(map(len, shown.splitlines())) <= 80
    listed = json.loads(run("agents", "--json")[1])
    assert sorted(entry["problem"] for entry in listed) == shipped_problems()
    from lagco.agents import shipped

    described = shipped.read_description

    def other(folder):
        return described(folder) | {"sha256": "0" * 64}

    monkeypatch.setattr(shipped, "read_description", other)
    assert all(entry["figures"] is None for entry in list_agents())


def test_agents_are_loaded_by_the_name_of_their_problem():
    agent = lagco.load("max-cut")
    assert (agent.problem.name, agent.name) == ("max-cut", "taught-projection")
    shown = repr(agent)
    assert shown.startswith("<Agent: method taught-projection, problem max-cut, trained ")
    assert "<td" in agent._repr_html_() and "\n" not in shown


def test_data_and_answers_say_what_they_are(tmp_path):
    data = lagco.generate(
        "max-cut", 2, out=tmp_path / "data", sizes="6,8", sweeps=5, workers=1, progress=False
    )
    assert repr(data) == (
        f"<DataSet: problem max-cut, instances 2, sizes 6 to 8, folder {tmp_path / 'data'}>"
    )
    assert str(tmp_path) in data._repr_html_()
    answer = lagco.solve(data[0], by="solver", turns=2)
    assert repr(answer).startswith(f"<Answer: problem max-cut, instance {data[0].name}, objective")
    assert len(repr(answer)) < 200 and "objective" in answer._repr_html_()
    assert repr(data[0]) == (
        f"<Instance: problem max-cut, name {data[0].name}, size 6, references sweeps and solver>"
    )
    found = lagco.evaluate("greedy", data, episodes=1)
    assert repr(found).startswith("<Evaluation: policy greedy, problem max-cut, instances 2, score")
    encoder = lagco.pretrain(
        "max-cut",
        data,
        training=lagco.embedding.PretrainConfig(states=8, max_steps=1),
        progress=False,
    )
    assert (
        repr(encoder).startswith("<Encoder: problem max-cut, views ") and len(repr(encoder)) < 120
    )
    sizes = lagco.info(tmp_path / "data")["sizes"]
    assert sizes == {"smallest": 6, "median": 7, "largest": 8}


def test_information_on_studies_and_records(run, tmp_path):
    brief = {"problems": ("tsp",), "methods": ("projection",), "strategies": ("varied",)}
    folder = write_ledger(tmp_path / "study", Extent(**brief, missing=0))
    about = lagco.info(folder)
    assert about["kind"] == "study" and about["records"]["run"] == 2
    exported = lagco.info(export(folder, tmp_path / "records.jsonl.xz"))
    assert exported == about | {"kind": "records of a study"}
    code, shown, _ = run("info", folder)
    assert code == 0 and "records, run" in shown and len(shown.splitlines()) < 25
    assert max(map(len, shown.splitlines())) <= 80
    record = next((folder / "records" / "policy").glob("*.json"))
    assert lagco.info(record)["kind"] == "record of a study: policy"
    failure = next((folder / "failures").rglob("*.json"))
    assert lagco.info(failure)["error"].startswith("MemoryError")
    assert lagco.info(folder / "studies" / "generalization.json")["steps"] == [2048]
    code, _, errors = run("info", tmp_path)
    assert code == 1 and "holds nothing that lagco wrote" in errors


def test_information_on_an_unfinished_run(tmp_path):
    from lagco.agents.training.trainer import RUN_KIND

    config = {"method": "projection", "strategy": "varied", "seed": 3}
    RUN_KIND.write(tmp_path, {"identity": "0" * 64, "config": config})
    (tmp_path / "progress.csv").write_text("steps,score\n512,0.5\n")
    about = lagco.info(tmp_path)
    assert about["kind"] == "unfinished training run"
    assert about["steps done"] == 512 and not about["checkpoint"]
    assert "lagco train" in about["to go on"]


@pytest.mark.parametrize("text", ["steps,score\nmany,0.5\n", "nothing\n1\n", "steps\n1,2\n"])
def test_a_damaged_curve_is_named(tmp_path, text):
    from lagco.agents.training.curve import Table
    from lagco.agents.training.trainer import RUN_KIND

    RUN_KIND.write(tmp_path, {"identity": "0" * 64, "config": {}})
    (tmp_path / "progress.csv").write_text(text)
    with pytest.raises(LagcoError, match="progress.csv: not the table of a training run"):
        lagco.info(tmp_path)
    with pytest.raises(LagcoError, match="progress.csv: not the table of a training run"):
        Table(tmp_path / "progress.csv").cut(512)


def test_named_pipes_and_links_in_a_circle_are_refused_by_name(tmp_path, run):
    circle, exported = tmp_path / "circle.tsp", tmp_path / "exported"
    circle.symlink_to(circle.name)
    exported.mkdir()
    pipes = [tmp_path / "p.json", tmp_path / "p.xz", tmp_path / "p.csv", exported / "policy.json"]
    for pipe in pipes:
        os.mkfifo(pipe)
    for words in (
        ["solve", circle], ["report", circle], ["info", circle], ["info", pipes[0]],
        ["info", pipes[1]], ["solve", tmp_path, "--out", pipes[2]], ["info", exported],
    ):  # fmt: skip
        code, _, errors = run(*map(str, words))
        named = words[-1] if words[-1] is not exported else pipes[3]
        assert code == 1 and str(named) in "".join(errors.split()), words


def test_an_exported_policy_that_is_no_json_is_named(tmp_path):
    (tmp_path / "policy.json").write_text("{")
    with pytest.raises(LagcoError, match="policy.json: not an exported policy"):
        lagco.info(tmp_path)


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "function", "message"),
    [
        (["generate", "tsp", "--out", "x"], "lagco.generate", "finished instances are kept in x"),
        (["train", "tsp", "--data", "d", "--out", "x"], "lagco.train", "keeps the last checkpoint"),
        (
            ["study", "scalability", "--preset", "tiny", "--out", "x"],
            "lagco.study.run_study",
            "0 of 12 tasks are done and kept in x",
        ),
    ],
)
def test_an_interrupted_command_says_what_is_kept(
    words, function, message, run, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "0000.npz").touch()
    monkeypatch.setattr(function, interrupted, raising=False)
    code, _, errors = run(*words)
    assert code == 130
    assert message in " ".join(errors.split()) and "the same command continues" in errors


def test_an_interrupted_generate_says_that_nothing_is_kept(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lagco.generate", interrupted, raising=False)
    code, _, errors = run("generate", "tsp", "--out", "x")
    assert (code, errors) == (130, "stopped: no instance was finished\n")


def test_a_study_that_is_interrupted_while_modules_are_imported_says_that_it_goes_on(
    run, monkeypatch, tmp_path
):
    def half_imported(*_):
        raise RuntimeError("already has a docstring")

    monkeypatch.setattr("lagco.study.run_study", interrupted)
    monkeypatch.setattr("lagco.study.study_status", half_imported)
    code, _, said = run("study", "generalization", "--preset", "tiny", "--out", tmp_path / "s")
    assert code == 130
    assert said.startswith("stopped: what is done is kept in")


def test_information_on_demonstrations_and_exported_policies(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lagco.generate("max-cut", 2, out="data", sizes=6, references="none", progress=False)
    code, shown, _ = run("demonstrate", "max-cut", "--data", "data", "--out", "shown", "--json")
    assert code == 0
    about = lagco.info("shown")
    assert json.loads(shown) == about == lagco.info("shown/demonstrations.json")
    assert about["kind"] == "demonstrations" and about["instances"] == about["episodes"] == 2
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "policy.json").write_text('{"problem": "tsp", "method": "projection"}')
    assert lagco.info("runtime") == {
        "kind": "exported policy",
        "problem": "tsp",
        "method": "projection",
    }


def test_help_shows_no_type_beside_flags(run):
    for words in ([], ["train"], ["bench", "decode"]):
        assert "bool" not in run(*words, "--help")[1]
    assert "list[" not in run("train", "--help")[1]


def test_an_agent_that_is_not_there_is_no_agent(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lagco.sample("coast52")
    code, _, errors = run("solve", "coast52.tsp", "--agent", "nowhere", "--seconds", "0.1")
    assert code == 1 and "--agent nowhere: no such folder" in errors


def test_a_new_data_set_is_described_in_short(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["generate", "max-cut", "-n", "2", "--sizes", "6,8", "--references", "none"]
    code, shown, _ = run(*words, "--out", "data")
    assert code == 0 and "6 to 8, median 7" in shown and len(shown.splitlines()) < 12
    _, _, errors = run("generate", "max-cut", "--sizes", "abc", "--out", "other")
    assert "--sizes abc: give one size (20), several (20,50) or a range (10-20)" in errors


@pytest.mark.parametrize(("value", "coloured"), [(None, True), ("1", False)])
def test_errors_are_red_on_a_terminal_unless_no_color_is_set(value, coloured, run, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if value is not None:
        monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert ("\x1b[31m" in run("info", "nowhere")[2]) is coloured


def test_a_data_set_names_each_solver_once(tmp_path):
    lagco.generate("ospf", 3, sizes=8, sweeps=5, out=tmp_path / "data", progress=False, workers=1)
    found = lagco.info(tmp_path / "data")["solver"]
    assert sum(found.values()) == 3
    assert set(found) <= {"annealing (best-known)", "annealing (optimal)"}


def defaults_of_seeds():
    """Default seed of every command, its options by name; studies have seeds of their own."""
    from lagco.cli import load_command

    for name in COMMANDS:
        command = load_command(name)
        commands = getattr(command, "commands", {}) if name != "study" else {}
        for each in (command, *commands.values()):
            yield from ((each.name, p.default) for p in each.params if p.name == "seed")


def test_commands_and_functions_have_one_default_seed():
    import inspect

    import lagco
    from lagco.agents.config import TrainConfig

    chosen = {
        "train": None,
        "evaluate": None,
        "solve": None,
        "live": None,
    }  # they leave it to the function
    found = dict(defaults_of_seeds())
    assert len(found) > 7
    assert found == {name: chosen.get(name, 42) for name in found}
    assert TrainConfig.seed == 42
    functions = {name: getattr(lagco, name) for name in lagco.__all__ if name.islower()}
    for name, function in functions.items():
        seed = inspect.signature(function).parameters.get("seed") if callable(function) else None
        wanted = (None, 42, inspect.Parameter.empty)
        assert seed is None or seed.default in wanted, name


def test_a_setting_of_another_method_names_the_methods_that_have_it(run, tmp_path):
    words = ["train", "tsp", "--data", "x", "--out", str(tmp_path / "y")]
    code, _, errors = run(*words, "--teacher", "greedy", "--method", "projection")
    assert code == 1
    assert "taught-projection has 'teacher'" in " ".join(errors.split())


def test_a_problem_is_given_in_one_way_everywhere():
    """As its name or module:Class, whether it is an argument or an option."""
    from lagco.cli import load_command

    about = {}
    for name in COMMANDS:
        command = load_command(name)
        for each in (command, *getattr(command, "commands", {}).values()):
            about.update((each.name, p.help) for p in each.params if p.name == "problem")
    assert {"solve", "evaluate", "train", "report", "encode"} <= about.keys()
    other = {
        name: text
        for name, text in about.items()
        if "ame of a problem, or module:Class" not in text
    }
    assert other == {}
