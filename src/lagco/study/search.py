"""Search for hyper-parameters: TPE over the paper's spaces or a user's.

The ledger is the only memory. The trials of a batch are chosen from the records of the batches
before it, with a sampler seeded by the number of the trial, so a search that was stopped goes on as
if it had not been, on any number of workers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lagco.agents.config import applicable_settings, train_config
from lagco.agents.registry import METHODS, method_of
from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.errors import UsageError, require_extra, suggest
from lagco.study.artefacts import data_task, encoder_task, used_data
from lagco.study.code import code_version
from lagco.study.ledger import Ledger
from lagco.study.paper import paper_tables
from lagco.study.settings import TuneSettings, sees_latent
from lagco.study.splits import FOLDS, training_indices
from lagco.study.task import Task

#: sections of a search space: fields of the method's configuration, of the encoder's, of training
_SECTIONS = ("agent", "shape", "pretraining")
_STACKS = {2: ["nnconv", "sage"], 3: ["nnconv", "sage", "sage"]}


@dataclass(frozen=True)
class SearchSpace:
    """Parameters to choose, and the method they are judged by.

    Attributes:
        name: for people.
        method: whose training and validation score judges a choice.
        domains: ``SECTION.FIELD`` to a list of choices or a range ``{"low", "high", "log"}``;
            sections are ``agent``, ``shape`` and ``pretraining``.
    """

    name: str
    method: str
    domains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                f"search space {self.name!r}: {suggest('method', self.method, METHODS)}"
            )
        if not self.domains:
            raise UsageError(f"search space {self.name!r} has no parameters")
        for path, domain in self.domains.items():
            self._check(path, domain)

    def _check(self, path: str, domain: Any) -> None:
        section, _, name = path.partition(".")
        where = f"search space {self.name!r}"
        if section not in _SECTIONS:
            raise UsageError(f"{where}: {suggest('section', section, _SECTIONS)}")
        kinds: dict[str, Any] = {"shape": EncoderConfig, "pretraining": PretrainConfig}
        kind = kinds.get(section) or method_of(self.method).config
        known = [entry.name for entry in fields(kind)]
        if name not in known:
            raise UsageError(f"{where}: {suggest(f'parameter of {section}', name, known)}")
        if isinstance(domain, list) and domain:
            return
        if isinstance(domain, dict) and {"low", "high"} <= domain.keys() <= {"low", "high", "log"}:
            low, high = domain["low"], domain["high"]
            numbers = all(isinstance(v, int | float) for v in (low, high))
            if numbers and low < high and not (domain.get("log") and low <= 0):
                return
        raise UsageError(
            f"{where}: {path} = {domain!r}; give a list of choices, or {{low = …, high = …}} with "
            "low < high (and log = true for positive values)"
        )


def paper_space(name: str) -> SearchSpace:
    """One of the paper's search spaces: ``discrete``, ``projection``, ``iterative``, ``gae``."""
    domains: dict[str, Any] = {}
    for parameter, entry in paper_tables()["search_spaces"][name].items():
        choices: list[Any] = list(entry["choices"])
        if name != "gae":
            rename = {"n_steps": "n_step" if name == "iterative" else "rollout"}
            domains[f"agent.{rename.get(parameter, parameter)}"] = choices
        elif parameter in ("learning_rate", "batch_size"):
            domains[f"pretraining.{parameter}"] = choices
        elif parameter == "layers":
            domains["shape.layers"] = [_STACKS[count] for count in choices]
        else:
            domains[f"shape.{parameter}"] = choices
    method = {"discrete": "p-discrete-m", "gae": "projection"}.get(name, name)
    return SearchSpace(name, method, domains)


def read_space(source: str) -> SearchSpace:
    """A search space of the paper by name, or a user's from a TOML file."""
    known = paper_tables()["search_spaces"]
    if source in known:
        return paper_space(source)
    path = Path(source)
    if not path.suffix == ".toml":
        raise UsageError(f"{suggest('search space', source, known)}; your own is a .toml file")
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from error
    name, method = content.pop("name", path.stem), content.pop("method", "projection")
    domains: dict[str, Any] = {}
    for section, entries in content.items():
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {suggest('key', section, ['name', 'method', *_SECTIONS])}")
        domains |= {f"{section}.{parameter}": domain for parameter, domain in entries.items()}
    return SearchSpace(str(name), str(method), domains)


def plan_tune(settings: TuneSettings, ledger: Ledger) -> list[Task]:
    """The tasks that can be planned now: data, the batches so far and the next one."""
    optuna = require_extra("optuna", "tune", "lagco study tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[str, Task] = {}
    for problem in settings.problems:
        for features in settings.features:
            for source in settings.spaces:
                search = _Search(settings, ledger, problem, features, read_space(source))
                found |= {task.key: task for task in search.tasks(optuna)}
    return list(found.values())


class _Search:
    """One problem, feature set and space."""

    def __init__(
        self,
        settings: TuneSettings,
        ledger: Ledger,
        problem: str,
        features: str,
        space: SearchSpace,
    ) -> None:
        self._settings, self._ledger = settings, ledger
        self._problem, self._features, self._space = problem, features, space
        self._data = data_task(
            problem, settings.instances, sizes=settings.sizes, sweeps=settings.sweeps
        )
        self._used, record = used_data(ledger, self._data)
        self._sizes = (
            None if record is None else [entry["size"] for entry in record.result["instances"]]
        )

    def tasks(self, optuna: Any) -> list[Task]:
        settings = self._settings
        if self._sizes is None:
            return [self._data]
        if len(self._sizes) < FOLDS:
            raise UsageError(f"instances={len(self._sizes)}: tuning needs at least {FOLDS}")
        found = [self._data]
        told: list[dict[str, Any]] = []
        while len(told) < settings.trials:
            numbers = range(len(told), min(len(told) + settings.batch, settings.trials))
            batch = [self._trial(self._ask(optuna, told, number)) for number in numbers]
            for tasks in batch:
                found += tasks
            records = [self._ledger.get(tasks[-1]) for tasks in batch]
            if not all(records):
                return found
            for number, record in zip(numbers, records, strict=True):
                assert record is not None
                value = record.result["value"]
                params = dict(record.spec["params"])
                told.append({"number": number, "params": params, "key": record.key, "value": value})
        return [*found, self._judgement(told)]

    def _ask(self, optuna: Any, told: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        """What TPE proposes after the trials told; lists stand for themselves by their place."""
        domains = {
            path: _distribution(optuna, domain) for path, domain in self._space.domains.items()
        }
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=1000 * self._settings.seed + number),
        )
        for trial in told:
            value = trial["value"]
            state = optuna.trial.TrialState
            study.add_trial(
                optuna.trial.create_trial(
                    params={p: self._encoded(p, v) for p, v in trial["params"].items()},
                    distributions=domains,
                    value=value,
                    state=state.FAIL if value is None else state.COMPLETE,
                )
            )
        proposed = study.ask(domains).params
        return {path: self._decoded(path, proposed[path]) for path in domains}

    def _encoded(self, path: str, value: Any) -> Any:
        domain = self._space.domains[path]
        return domain.index(value) if isinstance(domain, list) else value

    def _decoded(self, path: str, value: Any) -> Any:
        domain = self._space.domains[path]
        return domain[value] if isinstance(domain, list) else value

    def _split(self) -> dict[str, list[int]]:
        assert self._sizes is not None
        train = training_indices(self._sizes, "varied", 0)
        validation = training_indices(self._sizes, "varied", 1)
        used = {*train, *validation}
        test = [index for index in range(len(self._sizes)) if index not in used]
        return {"train": train, "validation": validation, "test": test}

    def _trial(self, params: Mapping[str, Any]) -> list[Task]:
        """The trial of a choice, after the encoder that it uses."""
        settings, problem = self._settings, self._problem
        parts: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
        for path, value in params.items():
            section, _, name = path.partition(".")
            parts[section][name] = value
        method = self._space.method
        given: dict[str, Any] = {
            "steps": settings.steps,
            "seed": settings.seed,
            "features": self._features,
        }
        config = train_config(
            method=method, **(given | applicable_settings(method, settings.config) | parts["agent"])
        )
        split = self._split()
        encoders = []
        if sees_latent(method):
            encoder = encoder_task(
                problem,
                self._used,
                split["train"],
                name=f"{problem}-{self._features}-tune-{settings.seed}",
                features=self._features,
                seed=settings.seed,
                shape=parts["shape"],
                pretraining={**settings.pretraining, **parts["pretraining"]},
                strategy="tune",
                instances=settings.instances,
            )
            encoders.append(encoder)
        spec = {
            "problem": problem,
            **self._used,
            "space": self._space.name,
            "params": dict(params),
            "config": config.as_dict(),
            "encoder": encoders[0].key if encoders else None,
            "train": split["train"],
            "validation": split["validation"],
            "episodes": settings.episodes,
            "measure": settings.measure,
            "code": code_version(problem),
        }
        needs = (self._data.key, *(encoder.key for encoder in encoders))
        name = f"{problem}-{self._space.name}-{self._features}"
        return [*encoders, Task("trial", name, spec, needs)]

    def _judgement(self, told: Sequence[Mapping[str, Any]]) -> Task:
        settings = self._settings
        spec = {
            "problem": self._problem,
            **self._used,
            "space": self._space.name,
            "method": self._space.method,
            "features": self._features,
            "domains": dict(self._space.domains),
            "trials": list(told),
            "batch": settings.batch,
            "steps": settings.steps,
            "test": self._split()["test"],
            "episodes": settings.episodes,
            "measure": settings.measure,
            "seed": settings.seed,
            "code": code_version(self._problem),
        }
        name = f"{self._problem}-{self._space.name}-{self._features}"
        return Task("tune", name, spec, needs=tuple(sorted({t["key"] for t in told})))


def _distribution(optuna: Any, domain: Any) -> Any:
    kinds = optuna.distributions
    if isinstance(domain, list):
        return kinds.CategoricalDistribution(list(range(len(domain))))
    low, high, log = domain["low"], domain["high"], bool(domain.get("log", False))
    whole = isinstance(low, int) and isinstance(high, int)
    kind = kinds.IntDistribution if whole else kinds.FloatDistribution
    return kind(low, high, log=log)
