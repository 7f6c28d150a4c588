"""Training an agent: encoder, latent space, model, checkpoints, bundle.

:func:`train` brings the run of a :class:`Trainer` to a number of steps.
"""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import CallbackList

from lagco.agents.agent import Agent
from lagco.agents.bundle import AGENT, DESCRIPTION, RUN, SPACE, load, save_bundle
from lagco.agents.config import TrainConfig, train_config
from lagco.agents.inference.perceptron import AgentWeights, NetworkFactory
from lagco.agents.learning.ppo import Loss, use_loss, use_network
from lagco.agents.learning.scorer import Scorer
from lagco.agents.method import AdoptingModel
from lagco.agents.methods.projection import PointConfig
from lagco.agents.registry import method_of
from lagco.agents.training.callback import PatienceLost, RunCallback, given_callbacks
from lagco.agents.training.checkpoint import CHECKPOINT_KIND, restore_checkpoint, save_checkpoint
from lagco.agents.training.comparison import compare, drawn_instances
from lagco.agents.training.curve import Curve, Report
from lagco.agents.training.latent_env import CandidateVecEnv, LatentVecEnv
from lagco.agents.training.loggers import make_logger, writer_names
from lagco.agents.training.validation import Validation
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.data import Data, instances_from
from lagco.core.declaring.declaration import read_declaration
from lagco.embedding.devices import torch_device
from lagco.embedding.encoder import Encoder, NetworkClass
from lagco.embedding.encoder_cache import cached_encoder
from lagco.embedding.pretraining.pretrain import pretrain, problem_environments
from lagco.errors import LagcoError, UsageError
from lagco.instances import DataSet, Instance
from lagco.latent.files import load_space, save_space
from lagco.latent.space import LatentSpace
from lagco.problems import AnyProblem, problem_class
from lagco.results.numbers import of_things
from lagco.runtime.one_thread import one_thread
from lagco.runtime.progress import Progress
from lagco.store import SHA256, Kind, canonical_json, sha256

CHECKPOINT, CURVE = "checkpoint.safetensors", "progress.csv"
RUN_KIND = Kind(
    format="lagco-run",
    version=2,
    noun="a training run",
    remedy="choose another folder or remove it",
    description=RUN,
    schema={
        "type": "object",
        "required": ["identity", "config"],  # earlier versions wrote no parts
        "additionalProperties": False,
        "properties": {
            "identity": SHA256,
            "config": {"type": "object"},
            "parts": {"type": "object"},
        },
    },
)


def train(
    problem: AnyProblem,
    data: Data | None = None,
    out: str | Path | None = None,
    *,
    progress: bool = True,
    **options: Any,
) -> Agent:
    """Train an agent for ``steps`` steps in all and write it to `out`.

    An interrupted run is continued, and so is a finished one with fewer steps; a run that has all
    steps already is only loaded.

    Without data, the problem draws instances for training and validation. An agent of an imitating
    method is compared with `greedy` and with search of equal time on the validation instances
    (``agent.comparison``).

    Args:
        problem: name, ``module:Class``, class, or a function that makes an environment.
        data: folder of a data set, the data set, or instances; for environments also options of
            ``reset``, one mapping or several, or ``seeds=``.
        out: folder of the bundle; it also holds checkpoint, curve and latent space.
        progress: whether to show progress.
        options: arguments of :class:`Trainer`, including settings such as ``method``, ``steps``
            and ``seed``.
    """
    told: Report | None = options.pop("report", None)
    cls = problem_class(problem)
    if data is None and options.get("seeds") is None and cls.defines("draw"):
        data, validation = drawn_instances(cls, options)
        if options.get("validation") is None:
            options["validation"] = validation
    with Progress("training, steps", show=progress) as shown:

        def report(row: dict[str, Any]) -> None:
            score = row["return"] if row["score"] in (None, "") else row["score"]
            about = "" if score in (None, "") else f"score {float(score):.3f}"
            shown.update(row["steps"])
            shown.say(about)
            if told is not None:
                told(row)

        trainer = Trainer(problem, data, out, report=report, **options)
        shown.update(trainer.steps, trainer.config.steps)
        if trainer.pretrains:
            shown.say("pre-training the encoder")
        agent = trainer.learn(trainer.config.steps - trainer.steps)
        if agent.method.taught and trainer.validation:
            shown.say("comparing it with greedy and search")
            agent.comparison = compare(agent, trainer.validation)
        return agent


class Trainer:
    """A training run in a folder.

    Args:
        problem: name, ``module:Class``, class, or a function that makes an environment.
        data: folder of a data set, the data set, or instances; for environments also options of
            ``reset``, one mapping or several.
        seeds: for environments, seeds of ``reset``.
        out: folder of the bundle; it also holds checkpoint, curve and latent space.
        config: the whole configuration; otherwise it is made of `file` and `settings`.
        file: TOML file with settings.
        encoder: pre-trained encoder or its folder; pre-trained on the training instances without.
        init: bundle whose policy weights and latent space to start from.
        pad_to: instances that a padded method reserves room for in addition to those of `data`.
        validation: instances to evaluate on every ``evaluate_every`` steps; the bundle then holds
            the best weights, and ``patience`` stops the run.
        callbacks: callbacks of Stable-Baselines3, or functions of (locals, globals).
        logger: where metrics go: ``tensorboard``, ``csv`` and ``wandb``, with commas; TensorBoard
            where it is installed without.
        policy: makes the policy's network, a ``torch.nn.Module`` from observations (B, inputs) to
            (B, outputs): a class or function of (inputs, outputs).
        loss: what PPO minimises, instead of :func:`~lagco.agents.learning.ppo.ppo_loss`.
        encoder_class: factory of the module of `encoder` or `init`, if that is the user's own.
        keep_checkpoint: whether a finished run keeps its checkpoint, to be continued later.
        cache: whether to read an encoder pre-trained on the same data from the user's cache
            folder, and to store a new one there.
        report: called after every rollout with the row of the curve.
        settings: fields of the method's configuration, ``method`` among them.

    Attributes:
        config: of the run.
        folder: of the run.

    Raises:
        LagcoError: the folder holds another run.
    """

    def __init__(
        self,
        problem: AnyProblem,
        data: Data | None = None,
        out: str | Path | None = None,
        *,
        seeds: Iterable[int] | None = None,
        config: TrainConfig | None = None,
        file: str | Path | None = None,
        encoder: str | Path | Encoder | None = None,
        init: str | Path | None = None,
        pad_to: DataSet | Sequence[Instance] = (),
        validation: Data | None = None,
        callbacks: Any = None,
        logger: str | None = None,
        policy: NetworkFactory | None = None,
        loss: Loss | None = None,
        encoder_class: NetworkClass | None = None,
        keep_checkpoint: bool = True,
        cache: bool = True,
        report: Report | None = None,
        **settings: Any,
    ) -> None:
        self.problem = problem_class(problem)
        self.config = config or train_config(file, **settings)
        self.folder = run_folder(out)
        self._method = method_of(self.config.method)
        data = instances_from(self.problem, data, seeds)
        self._instances = chosen_instances(data, self.config.strategy, self.problem.name)
        self._validation = (
            []
            if validation is None
            else chosen_instances(
                instances_from(self.problem, validation, None), "varied", self.problem.name
            )
        )
        self._reserved = self._reserve(data, pad_to)
        if encoder is not None and init is not None:
            raise UsageError("give encoder= or init=, not both: an agent brings its encoder")
        if self.config.tunes_encoder and validation is not None:
            raise UsageError(
                "validation= keeps the best policy, not the encoder it came with; leave it out, or "
                "leave the encoder frozen"
            )
        if self.config.patience and validation is None:
            raise UsageError(
                f"patience={self.config.patience} counts evaluations on validation instances; "
                "give validation="
            )
        if encoder is not None and not isinstance(encoder, Encoder):
            encoder = Encoder.load(encoder, encoder_class=encoder_class)
        self._encoder = encoder
        own = encoder_class or (encoder.network_class if encoder is not None else None)
        self._loss = loss
        self._classes: dict[str, Any] = {"policy_class": policy, "encoder_class": own}
        self._start = None
        self._started_from = str(init) if init is not None and Path(init).is_dir() else None
        if init is not None:
            self._start = load(init, self.problem, self._instances[0], **self._classes)
        self._callbacks = given_callbacks(callbacks)
        self._writers = writer_names(logger)
        self._keep_checkpoint = keep_checkpoint
        self._cache = cache
        self._report = report
        torch_device(self.config.device)  # says what is wrong with it
        self._content = self._parts()
        self._identity = sha256(canonical_json(self._content).encode())
        self._is_new = not self.folder.exists()
        _claim(self.folder, self._identity, self.config, self._content)

    @property
    def steps(self) -> int:
        """Steps that the run has done."""
        path = self.folder / CHECKPOINT
        if path.exists():
            return int(CHECKPOINT_KIND.read_with_header(path).content["steps"])
        return self._finished_steps() or 0

    @property
    def validation(self) -> list[Instance]:
        """The validation instances."""
        return self._validation

    @property
    def pretrains(self) -> bool:
        """Whether the run begins with pre-training an encoder, unless one is in the cache."""
        given = self._encoder is not None or self._start is not None
        return self._method.latent and not given and not self._has_space()

    def learn(self, steps: int) -> Agent:
        """Train for `steps` more steps, rounded up to whole rollouts, and write the bundle.

        Linear schedules of learning rate and exploration extend over all steps of the run, these
        included. A run whose patience is exhausted continues only with a larger `patience`.
        """
        done = self.steps
        if steps > 0 or self._finished_steps() != done:
            if done and not (self.folder / CHECKPOINT).exists():
                raise UsageError(
                    f"{self.folder} holds an agent of {of_things(done, 'steps')} but no "
                    "checkpoint to go on from; train in another folder with init="
                )
            self.config = replace(self.config, steps=max(done + steps, 1))
            try:
                _claim(self.folder, self._identity, self.config, self._content)
                with one_thread():
                    self._run()
            except Exception:
                self._forget()
                raise
        return self.agent()

    def agent(self) -> Agent:
        """The agent that the folder holds."""
        config, rule = self.config, None
        if isinstance(config, PointConfig) and config.decoder.startswith("rule:"):
            rule = config.decoder  # a file must not name what is imported, the caller may
        return load(self.folder, self.problem, self._instances[0], rule, **self._classes)

    # -- a run

    def _forget(self) -> None:
        """Remove the files of a run that failed before its first checkpoint."""
        if any((self.folder / name).exists() for name in (CHECKPOINT, DESCRIPTION)):
            return
        if self._is_new:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        shutil.rmtree(self.folder / SPACE, ignore_errors=True)
        for name in (RUN, CURVE):
            (self.folder / name).unlink(missing_ok=True)

    def _run(self) -> None:
        began = time.perf_counter()
        config, method = self.config, self._method
        method.check_run(self.problem, [*self._instances, *self._reserved], config)
        space = None
        if method.latent:
            space = self._start.space if self._start else self._space()
        if config.tunes_encoder:
            space = copy.deepcopy(space)  # the given encoder must not change
        env = method.env(self.problem, self._instances, space, config, self._reserved)
        if isinstance(env, CandidateVecEnv):
            env.started_from = self._started_from
        model = method.model(env, config)
        policy, network = self._classes["policy_class"], None
        if policy is not None:
            network = use_network(model, policy, method.name)
        if self._loss is not None:
            use_loss(model, self._loss, method.name)
        scorer = _scorer(env, config)
        if self._start is not None:
            _adopt_all(model, method.weights, scorer, self._start, config)
        validation = self._make_validation()
        curve = Curve(self.folder / CURVE, env, self._report)
        path = self.folder / CHECKPOINT
        done = 0
        if path.exists():
            done = restore_checkpoint(path, model, env, self._identity, scorer, validation)
        curve.cut(done)

        def weights() -> AgentWeights:
            arrays = method.weights(model) | ({} if scorer is None else scorer.arrays())
            return AgentWeights(arrays, {} if network is None else {"policy": network})

        def agent() -> Agent:
            described = {"config": config.as_dict(), "facts": method.facts(env)}
            return Agent(self.problem, method, weights(), described, space).configured()

        def save() -> None:
            save_checkpoint(path, model, env, self._identity, scorer, validation)

        if config.steps > done and not (validation is not None and validation.exhausted):
            callback = RunCallback(curve, save, agent, env, config, scorer, validation)
            self._learn(model, callback, done)
            save()
        best = weights() if validation is None else validation.weights
        save_bundle(
            self.folder,
            self.problem,
            method,
            best,
            space,
            config=config.as_dict(),
            facts=method.facts(env),
            training={
                "instances": [instance.checksum for instance in self._instances],
                "sizes": [instance.size for instance in self._instances],
                "steps": int(model.num_timesteps),
            }
            | ({} if validation is None else {"validation": validation.summary()}),
            measured={"seconds": round(curve.earlier + time.perf_counter() - began, 1)},
        )
        if not self._keep_checkpoint:
            path.unlink(missing_ok=True)

    def _learn(self, model: BaseAlgorithm, callback: RunCallback, done: int) -> None:
        about = {"identity": self._identity, **self.config.as_dict()}
        logger = make_logger(self._writers, self.folder, done, about)
        model.set_logger(logger)
        callbacks = CallbackList([callback, *self._callbacks])
        try:
            model.learn(
                self.config.steps - done,
                callback=callbacks,
                reset_num_timesteps=False,
                log_interval=None,  # type: ignore[arg-type]
            )
        except PatienceLost:
            callbacks.on_training_end()
        finally:
            logger.close()

    def _space(self) -> LatentSpace:
        """The latent space of the run: made once, then read from its folder."""
        config, folder = self.config, self.folder / SPACE
        if self._has_space():
            env = self.problem(self._instances[0], features=config.features)
            env.reset(seed=0)
            declared = read_declaration(env, env.graph_views())
            return load_space(folder, declared, encoder_class=self._classes["encoder_class"])
        encoder = self._encoder
        if encoder is None:
            given: dict[str, Any] = {
                "features": config.features,
                "seed": config.seed,
                "device": config.device,
            }
            encoder = (
                cached_encoder(self.problem, self._instances, **given)
                if self._cache
                else pretrain(self.problem, self._instances, progress=False, **given)
            )
        sources = problem_environments(self.problem, self._instances, config.features)
        reduce = getattr(config, "reduce", 0) or None
        space = LatentSpace.fit(encoder, sources, seed=config.seed, reduce=reduce)
        save_space(space, folder)
        return space

    def _has_space(self) -> bool:
        return (self.folder / SPACE / "latent.json").exists()

    def _make_validation(self) -> Validation | None:
        if not self._validation:
            return None
        config = self.config
        return Validation(
            self.problem, self._validation, config.features, config.evaluate_every, config.patience
        )

    # -- identity

    def _reserve(self, data: Data, pad_to: DataSet | Sequence[Instance]) -> list[Instance]:
        """Instances that a padded method reserves room for in addition to the training ones."""
        if not self._method.padded:
            return []
        whole = DataSet.load(data) if isinstance(data, str | Path) else data
        others = whole if self.config.strategy != "varied" else ()
        return [*others, *pad_to, *self._validation]

    def _parts(self) -> dict[str, Any]:
        """What identifies the run: a folder is continued only with the same values."""
        start, policy = self._start, self._classes["policy_class"]
        content = {
            "problem": self.problem.name,
            "instances": [instance.checksum for instance in self._instances],
            "config": self.config.identity(),
            "encoder": None if self._encoder is None else self._encoder.content_hash,
            "init": None if start is None else start.description["sha256"],
            "pad_to": [instance.checksum for instance in self._reserved],
            "validation": [instance.checksum for instance in self._validation],
            "policy": None if policy is None else getattr(policy, "__qualname__", repr(policy)),
        }
        if self._loss is not None:
            content["loss"] = getattr(self._loss, "__qualname__", repr(self._loss))
        return content

    def _finished_steps(self) -> int | None:
        """Steps of the agent in the folder, None where there is none."""
        if not (self.folder / DESCRIPTION).exists():
            return None
        return int(AGENT.read(self.folder).content["training"]["steps"])


def run_folder(out: str | Path | None) -> Path:
    """The folder of a run; UsageError for none or a file."""
    if out is None:
        raise UsageError("out= is missing: name a folder for the agent")
    if Path(out).exists() and not Path(out).is_dir():
        raise UsageError(f"out={str(out)!r}: is a file; name a folder for the agent")
    return Path(out)


def chosen_instances(
    data: str | Path | DataSet | Sequence[Instance], strategy: str, problem: str | None = None
) -> list[Instance]:
    """The instances that a strategy trains on: all, or the smallest, middle or largest one."""
    source = DataSet.load(data, problem) if isinstance(data, str | Path) else data
    instances = sorted(source, key=lambda instance: instance.size)
    if not instances:
        raise UsageError("there is no instance to train on; give data=")
    if strategy == "varied":
        return instances
    place = {"small": 0, "medium": len(instances) // 2, "large": -1}[strategy]
    return [instances[place]]


def _scorer(env: ProblemVecEnv, config: TrainConfig) -> Scorer | None:
    """Scorer of the decoder ``scored``, trained together with the policy; None for others."""
    if not isinstance(config, PointConfig) or config.decoder != "scored":
        return None
    assert isinstance(env, LatentVecEnv)
    scorer = Scorer(env.views[0].observation_width, env.space.scale.width, config)
    env.decoder.values = scorer.values
    env.log_executed()
    return scorer


def _adopt_all(
    model: BaseAlgorithm,
    weights: Any,
    scorer: Scorer | None,
    start: Agent,
    config: TrainConfig,
) -> None:
    """Copy the weights of another agent, those of its scorer included."""
    device = model.device
    model.policy.to("cpu")  # where arrays and modules share their memory
    _adopt(weights(model), start, config)
    model.policy.to(device)
    if isinstance(model, AdoptingModel):
        model.adopted(start.weights)
    if scorer is not None and "scorer.0.weight" in start.weights:
        _adopt(scorer.arrays(), start, config)


def _adopt(arrays: Mapping[str, Array], start: Agent, config: TrainConfig) -> None:
    """Copy the arrays of the same names of an agent of the same method."""
    if start.name != config.method:
        raise UsageError(f"init= is a {start.name} agent, this run trains {config.method}")
    for name, array in arrays.items():
        given = start.weights.get(name)
        if given is None or given.shape != array.shape:
            found = "is missing" if given is None else f"has shape {given.shape}"
            raise UsageError(f"init=: {name} {found}, this run needs {array.shape}")
        if array.dtype.kind in "iu" and not np.array_equal(given, array):
            raise UsageError(f"init=: {name} is {given.tolist()}, this run has {array.tolist()}")
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            array[...] = start.weights[name]


def _claim(folder: Path, identity: str, config: TrainConfig, parts: Mapping[str, Any]) -> None:
    """Write the identity of the run to its folder; LagcoError if it belongs to another run."""
    path = folder / RUN
    sums = {name: sha256(canonical_json(part).encode()) for name, part in parts.items()}
    if path.exists():
        there = RUN_KIND.read(folder).content
        present = there["identity"]
        begun = [name for name in (CHECKPOINT, CURVE, DESCRIPTION) if (folder / name).exists()]
        if present != identity and not begun:
            shutil.rmtree(folder / SPACE, ignore_errors=True)  # of a run that never began
        elif present != identity:
            raise LagcoError(
                f"{folder} holds another run ({_differences(there, config, sums)}); choose another "
                "folder or remove it"
            )
        else:
            return
    elif (folder / DESCRIPTION).exists():
        raise LagcoError(
            f"{folder} holds an agent but no run; choose another folder, and give init= to start "
            "from that agent"
        )
    if (folder / CHECKPOINT).exists():
        CHECKPOINT_KIND.read_with_header(folder / CHECKPOINT)
    RUN_KIND.write(folder, {"identity": identity, "config": config.as_dict(), "parts": sums})


def _differences(there: Mapping[str, Any], config: TrainConfig, sums: Mapping[str, str]) -> str:
    """How the run in a folder differs from this one, in words."""
    found = [
        f"{name} is {there['config'].get(name)!r} there and {value!r} here"
        for name, value in config.identity().items()
        if there["config"].get(name) != value
    ]
    known = there.get("parts", sums)
    others = [name for name in {**known, **sums} if known.get(name) != sums.get(name)]
    found += [f"other {name.replace('_', ' ')}" for name in others if name != "config"]
    return ", ".join(found) or "other data, encoder or init"
