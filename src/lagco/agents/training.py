"""Training an agent: encoder, latent space, model, progress, checkpoints, bundle."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

from lagco.agents.agent import Agent
from lagco.agents.bundle import DESCRIPTION, SPACE, load, save_bundle
from lagco.agents.checkpoint import read_header, restore_checkpoint, save_checkpoint
from lagco.agents.config import TrainConfig, train_config
from lagco.agents.lean import lean_torch
from lagco.agents.projection import LatentVecEnv, PointConfig
from lagco.agents.registry import method_of
from lagco.agents.scorer import Scorer, n_step_returns
from lagco.agents.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.adapter import Data, instances_from
from lagco.core.declaration import read_declaration
from lagco.core.problem import Problem
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretrain import pretrain, problem_environments
from lagco.errors import LagcoError, UsageError
from lagco.files import canonical_json, readable_json, sha256, write_atomically
from lagco.instances import DataSet, Instance
from lagco.latent.files import load_space, save_space
from lagco.latent.space import LatentSpace
from lagco.problems import AnyProblem, problem_class

RUN, CHECKPOINT, CURVE = "run.json", "checkpoint.safetensors", "progress.csv"
_COLUMNS = ("steps", "episodes", "score", "score_best", "return", "length", "seconds")

_SAVE_EVERY = 8

#: called after every rollout with the row of the curve
Report = Callable[[dict[str, Any]], None]


def train(
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
    report: Report | None = None,
    **settings: Any,
) -> Agent:
    """Train an agent and write it to `out`; a run that was interrupted goes on where it was.

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
        report: called after every rollout.
        settings: fields of the method's configuration, ``method`` among them.
    """
    cls = problem_class(problem)
    config = config or train_config(file, **settings)
    data = instances_from(cls, data, seeds)
    instances = chosen_instances(data, config.strategy, cls.name)
    folder = run_folder(out)
    reserved = _reserved(config, data, pad_to)
    if encoder is not None and init is not None:
        raise UsageError("give encoder= or init=, not both: an agent brings its encoder")
    if encoder is not None and not isinstance(encoder, Encoder):
        encoder = Encoder.load(encoder)
    start = None if init is None else load(init, cls, instances[0])
    identity = _identify(cls, instances, config, encoder, start, reserved)
    _claim(folder, identity, config)
    if not (folder / DESCRIPTION).exists():
        with lean_torch():
            _run(cls, instances, folder, config, identity, encoder, start, reserved, report)
    return load(folder, cls, instances[0])


def run_folder(out: str | Path | None) -> Path:
    """The folder of a run, checked."""
    if out is None:
        raise UsageError("out= is missing: name a folder for the agent")
    if Path(out).exists() and not Path(out).is_dir():
        raise UsageError(f"out={str(out)!r}: is a file; name a folder for the agent")
    return Path(out)


def _reserved(
    config: TrainConfig,
    data: str | Path | DataSet | Sequence[Instance],
    pad_to: DataSet | Sequence[Instance],
) -> list[Instance]:
    """Instances that a padded method reserves room for: all of the data set, and `pad_to`."""
    if not method_of(config.method).padded:
        return []
    whole = DataSet.load(data) if isinstance(data, str | Path) else data
    return [*(whole if config.strategy != "varied" else ()), *pad_to]


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


def _run(
    cls: type[Problem],
    instances: list[Instance],
    folder: Path,
    config: TrainConfig,
    identity: str,
    encoder: Encoder | None,
    start: Agent | None,
    pad_to: Sequence[Instance],
    report: Report | None,
) -> None:
    began = time.perf_counter()
    method = method_of(config.method)
    space = None
    if method.latent:
        space = start.space if start else _space(cls, instances, folder, config, encoder)
    env = method.env(cls, instances, space, config, pad_to)
    model = method.model(env, config)
    scorer = _scorer(env, config)
    if start is not None:
        _adopt(method.weights(model), start, config)
        if scorer is not None and "scorer.0.weight" in start.weights:
            _adopt(scorer.arrays(), start, config)
        if isinstance(model, DQN):
            model.q_net_target.load_state_dict(model.q_net.state_dict())
    curve = _Curve(folder / CURVE, env, report)
    path = folder / CHECKPOINT
    if path.exists():
        curve.cut(restore_checkpoint(path, model, env, identity, scorer))
    else:
        curve.cut(0)
    callback = _Callback(
        curve, lambda: save_checkpoint(path, model, env, identity, scorer), scorer, env, config
    )
    remaining = config.steps - model.num_timesteps
    if remaining > 0:
        model.learn(remaining, callback=callback, reset_num_timesteps=False, log_interval=None)  # type: ignore[arg-type]
    save_bundle(
        folder,
        cls,
        method,
        method.weights(model) | ({} if scorer is None else scorer.arrays()),
        space,
        config=config.as_dict(),
        facts=method.facts(env),
        training={
            "instances": [instance.checksum for instance in instances],
            "sizes": [instance.size for instance in instances],
            "steps": int(model.num_timesteps),
            "seconds": round(curve.earlier + time.perf_counter() - began, 1),
        },
    )
    path.unlink(missing_ok=True)


def _space(
    cls: type[Problem],
    instances: list[Instance],
    folder: Path,
    config: TrainConfig,
    encoder: Encoder | None,
) -> LatentSpace:
    """The latent space of the run: made once, then read from its folder."""
    if (folder / SPACE / "latent.json").exists():
        env = cls(instances[0], features=config.features)
        env.reset(seed=0)
        return load_space(folder / SPACE, read_declaration(env, env.graph_views()))
    if encoder is None:
        encoder = pretrain(
            cls, instances, features=config.features, seed=config.seed, progress=False
        )
    sources = problem_environments(cls, instances, config.features)
    reduce = getattr(config, "reduce", 0) or None
    space = LatentSpace.fit(encoder, sources, seed=config.seed, reduce=reduce)
    save_space(space, folder / SPACE)
    return space


def _scorer(env: ProblemVecEnv, config: TrainConfig) -> Scorer | None:
    """What the decoder ``scored`` ranks by; it learns beside the policy."""
    if not isinstance(config, PointConfig) or config.decoder != "scored":
        return None
    assert isinstance(env, LatentVecEnv)
    scorer = Scorer(env.views[0].observation_width, env.space.scale.width, config)
    env.decoder.values = scorer.values
    env.log_executed()
    return scorer


def _adopt(arrays: Mapping[str, Array], start: Agent, config: TrainConfig) -> None:
    """Begin with the arrays of that name of another agent of the same method."""
    if start.name != config.method:
        raise UsageError(f"init= is a {start.name} agent, this run trains {config.method}")
    for name, array in arrays.items():
        given = start.weights.get(name)
        if given is None or given.shape != array.shape:
            found = "is missing" if given is None else f"has shape {given.shape}"
            raise UsageError(f"init=: {name} {found}, this run needs {array.shape}")
    for name, array in arrays.items():
        array[...] = start.weights[name]


class _Curve:
    """The learning curve: a CSV with one row per rollout."""

    def __init__(self, path: Path, env: ProblemVecEnv, report: Report | None) -> None:
        self._path = path
        self._env = env
        self._report = report
        self._rows: list[dict[str, Any]] = []
        #: seconds that the run took before it was interrupted
        self.earlier = 0.0
        self._board: Any = None
        self._began = time.perf_counter()

    def cut(self, steps: int) -> None:
        """Keep the rows of a run up to that many steps."""
        if steps and self._path.exists():
            rows = list(csv.DictReader(io.StringIO(self._path.read_text())))
            self._rows = [row for row in rows if int(row["steps"]) <= steps]
            self.earlier = float(self._rows[-1]["seconds"]) if self._rows else 0.0
        self._write()
        with contextlib.suppress(ImportError):  # tensorboard comes with the extra 'report'
            from torch.utils.tensorboard import SummaryWriter

            folder = self._path.parent / "tensorboard"
            self._board = SummaryWriter(str(folder), purge_step=steps + 1)

    def add(self, steps: int) -> None:
        """Add a row over the last 100 episodes."""
        row: dict[str, Any] = {"steps": steps, "episodes": self._env.episodes_done}
        for name in ("score", "score_best", "return", "length"):
            values = [e[name] for e in self._env.recent if e[name] is not None]
            row[name] = round(float(np.mean(values)), 6) if values else ""
        row["seconds"] = round(self.earlier + time.perf_counter() - self._began, 2)
        self._rows.append(row)
        self._write()
        if self._board is not None:
            for name in ("score", "score_best", "return", "length"):
                if row[name] != "":
                    self._board.add_scalar(f"episodes/{name}", row[name], steps)
            self._board.flush()
        if self._report is not None:
            self._report(row)

    def close(self) -> None:
        """Close what is open."""
        if self._board is not None:
            self._board.close()

    def _write(self) -> None:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, _COLUMNS)
        writer.writeheader()
        writer.writerows(self._rows)
        write_atomically(self._path, stream.getvalue().encode())


class _Callback(BaseCallback):
    """Between rollouts: trains the scorer, writes a row of the curve and a checkpoint."""

    def __init__(
        self,
        curve: _Curve,
        save: Callable[[], None],
        scorer: Scorer | None,
        env: ProblemVecEnv,
        config: TrainConfig,
    ) -> None:
        super().__init__()
        self._curve = curve
        self._save = save
        self._scorer = scorer
        self._env = env
        self._config = config
        self._shown = self._saved = 0

    def _on_step(self) -> bool:
        return True

    def _on_training_start(self) -> None:
        self._shown = self._saved = self.num_timesteps

    def _on_rollout_start(self) -> None:
        # here the update that followed the previous rollout is done
        if self.num_timesteps - self._shown >= self._config.rollout:
            self._curve.add(self.num_timesteps)
            self._shown = self.num_timesteps
            # a replay buffer is large: it is saved less often
            pause = _SAVE_EVERY if hasattr(self.model, "extra_arrays") else 1
            if self.num_timesteps - self._saved >= pause * self._config.rollout:
                self._save()
                self._saved = self.num_timesteps

    def _on_rollout_end(self) -> None:
        if self._scorer is None:
            return
        assert isinstance(self._env, LatentVecEnv)
        assert isinstance(self._config, PointConfig)
        buffer: Any = self.model.rollout_buffer  # type: ignore[attr-defined]
        dones = np.asarray(self.locals["dones"], dtype=np.float32)
        last = self.locals["values"].detach().numpy().ravel() * (1.0 - dones)
        targets = n_step_returns(
            buffer.rewards,
            buffer.episode_starts,
            buffer.values,
            last,
            self._config.gamma,
            self._config.n_step,
        )
        vectors = self._env.take_executed()
        width = buffer.observations.shape[-1]
        self._scorer.learn(
            buffer.observations.reshape(-1, width),
            vectors.reshape(-1, vectors.shape[-1]),
            targets.ravel(),
        )

    def _on_training_end(self) -> None:
        self._curve.add(self.num_timesteps)
        self._curve.close()


def _identify(
    cls: type[Problem],
    instances: list[Instance],
    config: TrainConfig,
    encoder: Encoder | None,
    start: Agent | None,
    pad_to: Sequence[Instance],
) -> str:
    content = {
        "problem": cls.name,
        "instances": [instance.checksum for instance in instances],
        "config": config.as_dict(),
        "encoder": None if encoder is None else encoder.content_hash,
        "init": None if start is None else start.description["sha256"],
    }
    if pad_to:
        content["pad_to"] = [instance.checksum for instance in pad_to]
    return sha256(canonical_json(content).encode())


def _claim(folder: Path, identity: str, config: TrainConfig) -> None:
    """Mark the folder as this run's, or refuse if it is another one's."""
    path = folder / RUN
    if path.exists():
        try:
            present = json.loads(path.read_bytes()).get("identity")
        except (ValueError, AttributeError, RecursionError) as error:
            raise LagcoError(f"{path}: damaged ({error}); choose another folder") from error
        begun = [name for name in (CHECKPOINT, CURVE, DESCRIPTION) if (folder / name).exists()]
        if present != identity and not begun:
            shutil.rmtree(folder / SPACE, ignore_errors=True)  # of a run that never began
        elif present != identity:
            raise LagcoError(
                f"{folder} holds another run (other configuration, data, encoder or init); choose "
                "another folder or remove it"
            )
        else:
            return
    if (folder / CHECKPOINT).exists():
        read_header(folder / CHECKPOINT)
    run = {"format": "lagco-run", "identity": identity, "config": config.as_dict()}
    write_atomically(path, readable_json(run))
