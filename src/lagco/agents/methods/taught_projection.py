"""`taught-projection`: `soft-projection` that imitates a teacher, with a ranker as its decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lagco.agents.config import TrainConfig, setting, with_default
from lagco.agents.inference.ranker import take_ranker
from lagco.agents.method import PlotStyle
from lagco.agents.methods.soft_projection import SoftProjectionConfig, SoftProjectionMethod
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.latent.candidates import SeenColumns
from lagco.latent.space import LatentSpace
from lagco.store import TEXT, Schema, Tensors, array_of

if TYPE_CHECKING:
    from lagco.agents.learning.ppo import PPO

#: JSON schema of the facts of a trained agent; agents of earlier versions have none
FACTS: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "candidate_columns": array_of(TEXT),
        "pair_columns": array_of(TEXT),
        "teacher": TEXT,
        "teacher_because": TEXT,
    },
    "dependentRequired": {"candidate_columns": ["pair_columns"]},
}


@dataclass(frozen=True)
class TaughtProjectionConfig(SoftProjectionConfig):
    """Settings of `taught-projection`; `steps` counts the states visited."""

    method = "taught-projection"

    teacher: str = setting(
        "auto",
        "teacher: solver, search, greedy, self for none but the agent's own episodes, auto for the "
        "problem's own or the best there is, default for the agent that comes with lagco, or a "
        "folder of demonstrations or of an agent",
    )
    steps: int = with_default(SoftProjectionConfig, "steps", 32_768)
    # a round begins new episodes: with few environments they come to their ends
    rollout: int = with_default(SoftProjectionConfig, "rollout", 4096)
    epochs: int = with_default(SoftProjectionConfig, "epochs", 2)
    decoder: str = with_default(SoftProjectionConfig, "decoder", "ranked")
    k: int = with_default(SoftProjectionConfig, "k", 16)
    ranker_width: int = setting(48, "width of the ranker's layers, a multiple of 4", least=4)
    ranker_layers: int = setting(
        3, "layers of the ranker; 0 for weighted sums of the columns, without pairs", least=0
    )
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
    drop_columns: str = setting(
        "",
        "columns of candidates that the ranker does not see, with commas between them; lagco info "
        "lists those of an agent",
    )

    @property
    def tunes_encoder(self) -> bool:
        return self.encoder_training != "frozen"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tunes_encoder and self.device != "cpu":
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
    """A policy proposes by proto-actions, a ranker chooses; both imitate a teacher."""

    name = "taught-projection"
    label = "taught-projection"
    style = PlotStyle("#7b3294", "star-diamond")
    taught = True
    config: type[TrainConfig] = TaughtProjectionConfig
    facts_schema = FACTS

    def check_run(self, problem: type[Problem], instances: Sequence[Instance], config: Any) -> None:
        """Raise UsageError for a teacher that the problem does not have."""
        from lagco.agents.teaching.teachers import SELF, make_teacher

        if config.teacher != SELF:
            make_teacher(config.teacher, problem)

    def model(self, env: Any, config: Any) -> PPO:
        from lagco.agents.learning.imitation import Imitation, ImitationSettings
        from lagco.agents.learning.own_episodes import OwnEpisodes
        from lagco.agents.teaching.choosing import Choice, chosen_teacher
        from lagco.agents.teaching.teachers import SELF, first_teacher, make_teacher

        problem = type(env.problems[0])
        choice = Choice(config.teacher, "it was asked for")
        if config.teacher == "auto":
            own = env.started_from
            choice = chosen_teacher(problem, env.instances, config.features, own)
        env.teacher_choice = choice
        if config.decoder == "ranked":
            env.ranked_columns = _columns(problem, config)
        settings = ImitationSettings(
            k=config.k if config.decoder == "ranked" else 0,
            width=config.ranker_width,
            layers=config.ranker_layers,
            own_share=config.own_share,
            policy_rate=config.learning_rate,
            ranker_rate=2.0 * config.learning_rate,
            tunes=config.tunes_encoder,
            columns=env.ranked_columns,
        )
        if choice.teacher == SELF:
            return OwnEpisodes(env, config, first_teacher(problem), settings)
        return Imitation(env, config, make_teacher(choice.teacher, problem), settings)

    def facts(self, env: Any) -> dict[str, Any]:
        """The teacher, and the ranker's columns if the problem names them."""
        teacher, why = env.teacher_choice
        columns = {} if env.ranked_columns is None else env.ranked_columns.facts()
        return columns | {"teacher": teacher, "teacher_because": why}

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        super().check(tensors, facts, space)
        if "ranker.mean" in tensors:
            take_ranker(tensors)


def _columns(problem: type[ContinuousEnv], config: Any) -> SeenColumns | None:
    """The columns of candidates without those that are dropped."""
    columns, dropped = SeenColumns.of(problem, config.features), config.drop_columns
    names = [name.strip() for name in dropped.split(",") if name.strip()]
    if columns is None and names:
        raise UsageError(
            f"drop_columns={dropped!r}: {problem.__name__} does not name columns of candidates; "
            "set its candidate_columns"
        )
    return columns if columns is None else columns.without(names)


METHOD = TaughtProjectionMethod()
