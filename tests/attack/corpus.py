"""Mutants that once did harm, by name: the original and the changed files."""

from __future__ import annotations

from tests.attack.kinds import variants


def _config(text):
    def case():
        original = variants("config")[0]
        return original, {"train.toml": text.encode()}

    return case


def _search(text):
    def case():
        original = variants("config")[1]
        return original, {"space.toml": text.encode()}

    return case


def _study(**settings):
    def case():
        original = variants("study")[0]
        layer = original.layers[0]
        description = layer.description(original.files)
        content = {"study": description["study"], "settings": description["settings"] | settings}
        files = dict(original.files)
        layer.write(files, content, {}, {})
        return original, files

    return case


CORPUS = {
    "configuration nested too deep": _config("a = " + "[" * 3000),
    "configuration with a number of 5000 digits": _config("steps = " + "9" * 5000),
    "configuration with a number of 400 digits": _config("learning_rate = 1" + "0" * 400),
    "configuration with infinity": _config("learning_rate = inf"),
    "configuration with a date": _config("steps = 1979-05-27"),
    "configuration with a wrong value names the file": _config("steps = -1"),
    "configuration of an unknown method names the file": _config('method = "none"'),
    "search space with a date": _search("[agent]\nlearning_rate = [1979-05-27]"),
    "search space up to infinity": _search("[agent]\nlearning_rate = {low = 1, high = inf}"),
    "search space without parameters names the file": _search('name = "mine"'),
    "study with steps that are texts": _study(steps=["many"]),
    "study with seeds that are lists": _study(seeds=[[1]]),
    "study with a number as configuration": _study(config=5),
}
