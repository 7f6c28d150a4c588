"""Plan of a search for hyper-parameters: TPE over the paper's spaces or a user's.

The ledger is the only memory. The trials of a batch are chosen from the records of the batches
before it, with a sampler seeded by the number of the trial, so a search that was stopped goes on as
if it had not been, on any number of workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lagco.agents.config import applicable_settings, train_config
from lagco.errors import UsageError, require_extra
from lagco.study.planning.search_space import SECTIONS, SearchSpace, read_space
from lagco.study.planning.splits import FOLDS, training_indices
from lagco.study.records.ledger import Ledger
from lagco.study.settings import TuneSettings, sees_latent
from lagco.study.task import Plan, Task
from lagco.study.tasks.data import data_task, used_data
from lagco.study.tasks.encoder import encoder_task
from lagco.study.tasks.trial import trial_task
from lagco.study.tasks.tune import tune_task


def plan_tune(settings: TuneSettings, ledger: Ledger) -> Plan:
    """Data, the batches so far and the next one; the trials after it can only be counted."""
    optuna = require_extra("optuna", "tune", "lagco study tune")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[str, Task] = {}
    later: Counter[str] = Counter()
    for problem in settings.problems:
        for features in settings.features:
            for source in settings.spaces:
                search = _Search(settings, ledger, problem, features, read_space(source))
                plan = search.plan(optuna)
                found |= {task.key: task for task in plan.tasks}
                later.update(plan.later)
    return Plan(list(found.values()), later)


class _Search:
    """Search for one problem, feature set and space."""

    def __init__(
        self,
        settings: TuneSettings,
        ledger: Ledger,
        problem: str,
        features: str,
        space: SearchSpace,
    ) -> None:
        if settings.instances < FOLDS:
            raise UsageError(f"instances={settings.instances}: tuning needs at least {FOLDS}")
        self._settings, self._ledger = settings, ledger
        self._problem, self._features, self._space = problem, features, space
        self._data = data_task(
            problem,
            settings.instances,
            sizes=settings.sizes,
            sweeps=settings.sweeps,
            options=settings.options_of(problem),
        )
        self._used, record = used_data(ledger, self._data)
        self._sizes = (
            None if record is None else [entry["size"] for entry in record.result["instances"]]
        )

    def plan(self, optuna: Any) -> Plan:
        """Tasks that can be specified now, and how many will follow."""
        found = [self._data]
        told: list[dict[str, Any]] = []
        while self._sizes is not None and len(told) < self._settings.trials:
            last = min(len(told) + self._settings.batch, self._settings.trials)
            numbers = range(len(told), last)
            batch = [self._trial(self._ask(optuna, told, number)) for number in numbers]
            found += [task for tasks in batch for task in tasks]
            records = [self._ledger.get(tasks[-1]) for tasks in batch]
            if not all(records):
                return Plan(found, self._later(known=last))
            for number, record in zip(numbers, records, strict=True):
                assert record is not None
                value = record.result["value"]
                params = dict(record.spec["params"])
                told.append({"number": number, "params": params, "key": record.key, "value": value})
        if self._sizes is None:
            return Plan(found, self._later(known=0))
        return Plan([*found, self._result(told)])

    def _later(self, known: int) -> dict[str, int]:
        """Tasks after the first trials, at most: choices may agree, and then share their tasks."""
        trials = self._settings.trials - known
        encoders = 0
        if sees_latent(self._space.method):
            encoders = trials if self._space.searches_encoder else int(not known)
        counts = {"encoder": encoders, "trial": trials, "tune": 1}
        return {kind: count for kind, count in counts.items() if count}

    def _ask(self, optuna: Any, told: Sequence[Mapping[str, Any]], number: int) -> dict[str, Any]:
        """Proposal of TPE after the trials told; entries of lists are told by their places."""
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
        settings, problem, method = self._settings, self._problem, self._space.method
        parts: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
        for path, value in params.items():
            section, _, name = path.partition(".")
            parts[section][name] = value
        given: dict[str, Any] = {
            "method": method,
            "preset": settings.training,
            "features": self._features,
            "steps": settings.steps,
            "seed": settings.seed,
        }
        given |= applicable_settings(method, settings.config)
        config = train_config(**(given | parts["agent"]))
        split = self._split()
        encoder = None
        if sees_latent(method):
            encoder = encoder_task(
                problem,
                self._used,
                split["train"],
                features=self._features,
                seed=settings.seed,
                strategy="tune",
                shape=parts["shape"],
                pretraining={**settings.pretraining, **parts["pretraining"]},
                instances=settings.instances,
            )
        trial = trial_task(
            problem,
            self._used,
            config,
            encoder,
            space=self._space.name,
            params=params,
            train=split["train"],
            validation=split["validation"],
            episodes=settings.episodes,
            measure=settings.measure,
        )
        return [trial] if encoder is None else [encoder, trial]

    def _result(self, told: Sequence[Mapping[str, Any]]) -> Task:
        settings = self._settings
        return tune_task(
            self._problem,
            self._used,
            self._space,
            told,
            features=self._features,
            test=self._split()["test"],
            training=settings.training,
            batch=settings.batch,
            steps=settings.steps,
            episodes=settings.episodes,
            measure=settings.measure,
            seed=settings.seed,
        )


def _distribution(optuna: Any, domain: Any) -> Any:
    kinds = optuna.distributions
    if isinstance(domain, list):
        return kinds.CategoricalDistribution(list(range(len(domain))))
    low, high, log = domain["low"], domain["high"], bool(domain.get("log", False))
    whole = isinstance(low, int) and isinstance(high, int)
    kind = kinds.IntDistribution if whole else kinds.FloatDistribution
    return kind(low, high, log=log)
