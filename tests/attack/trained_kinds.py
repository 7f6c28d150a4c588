"""Files of training: agents, encoders, latent spaces, checkpoints, runs, demonstrations."""

from __future__ import annotations

import functools

import numpy as np

from lagco.agents.bundle import AGENT, load, save_bundle
from lagco.agents.config import train_config
from lagco.agents.inference.action_tables import labelled_actions
from lagco.agents.learning.q_learning import IterativeDQN
from lagco.agents.registry import method_of
from lagco.agents.shipped import FOLDER
from lagco.agents.teaching.demonstrations import KIND as DEMONSTRATIONS
from lagco.agents.teaching.demonstrations import RecordedTeacher, demonstrate
from lagco.agents.training.checkpoint import CHECKPOINT_KIND, restore_checkpoint, save_checkpoint
from lagco.agents.training.trainer import RUN_KIND
from lagco.commands.generate import generate_instance
from lagco.core.declaring.declaration import read_declaration
from lagco.embedding.encoder import Encoder
from lagco.embedding.storage import ENCODER
from lagco.latent.decoder import plain_action
from lagco.latent.files import SPACE, load_space, save_space
from lagco.problems import problem_class
from lagco.store import sha256
from tests.attack.described import Layer
from tests.attack.variant import Variant, files_of, written
from tests.latent.conftest import brief_space


@functools.cache
def _town():
    return generate_instance("tsp", size=6, index=6, references=["sweeps"], sweeps=3)


def _declared(name="tsp", instance=None):
    env = problem_class(name)(instance or _town())
    env.reset(seed=0)
    return env, read_declaration(env, env.graph_views())


_BUNDLE = (
    Layer(AGENT, "agent.json"),
    Layer(SPACE, "latent.json", "space/", holder=(0, "space")),
    Layer(ENCODER, "encoder.json", "space/encoder/", holder=(1, "encoder")),
)


def _model(method):
    chosen, config = method_of(method), train_config(method=method, hidden=[8], envs=2, seed=3)
    space = brief_space("tsp", config.features) if chosen.latent else None
    env = chosen.env(problem_class("tsp"), [_town()], space, config)
    return chosen, config, space, env, chosen.model(env, config)


def agent():
    for method in ("projection", "iterative", "p-discrete-m", "taught-projection"):
        files = FOLDER / "tsp" if method == "taught-projection" else _untrained(method)
        files = files if isinstance(files, dict) else files_of(files)
        layers = _BUNDLE if method_of(method).latent else _BUNDLE[:1]
        yield Variant(files, load, _decisions, layers)


def _untrained(method):
    chosen, config, space, env, model = _model(method)
    training = {"instances": [_town().checksum], "sizes": [6], "steps": 0}
    about = {"config": config.as_dict(), "facts": chosen.facts(env), "training": training}
    weights = chosen.weights(model)
    return written(lambda f: save_bundle(f, problem_class("tsp"), chosen, weights, space, **about))


def _decisions(loaded):
    found = loaded.solve(_town(), episodes=2)
    return found.episodes, found.solution.tolist()


def encoder():
    files = written(brief_space("tsp").encoder.save)
    env, declaration = _declared()

    def vectors(loaded):
        found = loaded.embed_batch([env.graph_views()])[0]
        return {name: array.tobytes() for name, array in found.items()}

    yield Variant(
        files, lambda f: Encoder.load(f, declaration), vectors, (Layer(ENCODER, "encoder.json"),)
    )


def space():
    files = written(lambda folder: save_space(brief_space("tsp"), folder))
    layers = (
        Layer(SPACE, "latent.json"),
        Layer(ENCODER, "encoder.json", "encoder/", holder=(0, "encoder")),
    )
    env, declaration = _declared()

    def observed(loaded):
        view = loaded.view(env)
        view.refresh()
        room = np.empty(view.observation_width, np.float32)
        view.observation(room)
        return room.tobytes()

    yield Variant(files, lambda f: load_space(f, declaration), observed, layers)


def checkpoint():
    identity = sha256(b"attack")
    for method in ("projection", "iterative"):
        *_, env, model = _model(method)
        model.learn(130 if method == "iterative" else 1, log_interval=None)
        files = written(
            lambda f, m=model, e=env: save_checkpoint(f / "checkpoint.safetensors", m, e, identity)
        )

        def restored(folder, method=method):
            *_, env, model = _model(method)
            restore_checkpoint(folder / "checkpoint.safetensors", model, env, identity)
            return env, model

        layer = Layer(CHECKPOINT_KIND, "checkpoint.safetensors", form="header")
        yield Variant(files, restored, _next_steps, (layer,))


def _next_steps(loaded):
    _env, model = loaded
    weights = [tensor.numpy().tobytes() for tensor in model.policy.state_dict().values()]
    found = [sha256(b"".join(weights)), model.num_timesteps]
    if isinstance(model, IterativeDQN):
        found += [model.targets(model.replay_buffer.sample(16)).numpy().tobytes()]
        found += [model._positions(0.0).tolist()]
    return found


def run():
    content = {"identity": sha256(b"attack"), "config": train_config().as_dict()}
    files = written(lambda folder: RUN_KIND.write(folder, content))
    yield Variant(
        files, RUN_KIND.read, lambda found: found.content, (Layer(RUN_KIND, RUN_KIND.description),)
    )


def demonstrations():
    layer = Layer(DEMONSTRATIONS, DEMONSTRATIONS.description)
    for name in ("tsp", "placement", "traffic"):
        cls = problem_class(name)
        instance = generate_instance(name, size=8, index=8)
        env = cls(instance)
        env.reset(seed=0)
        files = written(
            lambda f, c=cls, i=instance: demonstrate(c, [i], f, teacher="greedy", episodes=2)
        )
        view = brief_space(name).view(env)
        yield Variant(
            files,
            lambda f, c=cls: RecordedTeacher(f, c),
            functools.partial(_followed, env, view),
            (layer,),
        )


def _followed(env, view, teacher):
    """Episodes as an agent that is taught sees them: right actions among the nearest ones."""
    proto, found = np.zeros(view.space.scale.width, np.float32), []
    for number in range(2):
        seed = teacher.episode_seed(env, number)
        env.reset(seed=seed)
        teacher.begin(env, seed)
        ended = False
        while not ended and len(known := teacher.actions(env)):
            view.refresh()
            rows, _, right = labelled_actions(view, proto, 8, known)
            first = view.raw(view.actions().rows(env.parts_from_actions(known[:1])))[0]
            *_, terminated, truncated, _ = env.step(plain_action(first))
            ended = terminated or truncated
            found.append((seed, first.tolist(), sorted(rows[right].tolist())))
    return found
