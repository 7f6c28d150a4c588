"""`taught-projection`: `soft-projection` that imitates a teacher, with a ranker as its decoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lagco.agents.config import TrainConfig, setting, with_default
from lagco.agents.method import Look
from lagco.agents.network import layer_arrays, policy_arguments, ppo_arguments
from lagco.agents.ranker import take_ranker
from lagco.agents.soft_projection import SoftProjectionConfig, SoftProjectionMethod
from lagco.arrays import Array
from lagco.errors import UsageError
from lagco.latent.space import LatentSpace
from lagco.store import Tensors

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

    from lagco.agents.vector_env import ProblemVecEnv


@dataclass(frozen=True)
class TaughtProjectionConfig(SoftProjectionConfig):
    """Settings of `taught-projection`; `steps` are the states that are looked at."""

    method = "taught-projection"

    teacher: str = setting(
        "auto",
        "teacher: solver, search, greedy, auto for the problem's own, or a folder of "
        "demonstrations or of an agent",
    )
    steps: int = with_default(SoftProjectionConfig, "steps", 200_000)
    # a round begins new episodes: with few environments they come to their ends
    rollout: int = with_default(SoftProjectionConfig, "rollout", 8192)
    epochs: int = with_default(SoftProjectionConfig, "epochs", 2)
    decoder: str = with_default(SoftProjectionConfig, "decoder", "ranked")
    k: int = with_default(SoftProjectionConfig, "k", 16)
    ranker_width: int = setting(48, "width of the ranker's layers, a multiple of 4", least=4)
    ranker_layers: int = setting(3, "layers of the ranker", least=1)
    temperature: float = setting(
        0.5, "temperature at which the ranker draws among candidates", above=0.0
    )
    encoder_training: str = setting(
        "frozen",
        "frozen, or fine-tuned: the encoder learns with the policy",
        choices=("frozen", "fine-tuned"),
    )
    own_share: float = setting(
        0.5, "share of the episodes that the learner begins itself", least=0.0, most=1.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder_training != "frozen" and self.device != "cpu":
            raise UsageError(
                f"encoder_training={self.encoder_training!r}: encoders are tuned on the cpu, "
                f"device={self.device!r} is another"
            )
        if self.decoder not in ("ranked", "nearest"):
            raise UsageError(
                f"decoder={self.decoder!r}: a taught agent learns to decode by 'ranked' or "
                "'nearest'; choose another one when it decides"
            )


class TaughtProjectionMethod(SoftProjectionMethod):
    """Proposes by projection, chooses by a ranker; both imitate a teacher."""

    name = "taught-projection"
    label = "taught-projection"
    look = Look("#7b3294", "star-diamond")
    taught = True
    config: type[TrainConfig] = TaughtProjectionConfig

    def model(self, env: ProblemVecEnv, config: Any) -> BaseAlgorithm:
        from lagco.agents.imitation import Imitation, ImitationSettings
        from lagco.agents.soft_policy import CandidateVecEnv, SoftProjectionPolicy
        from lagco.agents.teachers import make_teacher

        assert isinstance(env, CandidateVecEnv)
        settings = ImitationSettings(
            k=config.k if config.decoder == "ranked" else 0,
            width=config.ranker_width,
            layers=config.ranker_layers,
            own_share=config.own_share,
            policy_rate=config.learning_rate,
            ranker_rate=2.0 * config.learning_rate,
            tunes=config.encoder_training == "fine-tuned",
        )
        keywords = policy_arguments(config)
        return Imitation(
            SoftProjectionPolicy,
            env,
            teacher=make_teacher(config.teacher, type(env.problems[0])),
            settings=settings,
            policy_kwargs=keywords | {"proto_width": env.space.scale.width},
            **ppo_arguments(config),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        """See :class:`~lagco.agents.method.Method`; the averages of the last updates."""
        from lagco.agents.imitation import Imitation

        assert isinstance(model, Imitation)
        policy = model.deciding_policy()
        found = layer_arrays("policy", policy.policy_net, policy.action_net)
        found["log_temperature"] = policy.log_temperature.detach().cpu().numpy()
        return found | model.ranker_arrays()

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        super().check(tensors, facts, space)
        if "ranker.mean" in tensors:
            take_ranker(tensors)


METHOD = TaughtProjectionMethod()
