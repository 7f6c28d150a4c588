"""Configuration of the graph auto-encoder and of its pre-training."""

from __future__ import annotations

from dataclasses import dataclass

from lagco.errors import UsageError, suggest

LAYERS = ("nnconv", "sage", "gcn", "gat", "gin", "edgeconv")
#: stands in `layers` for a torch module of the user's own
OWN = "own"
ACTIVATIONS = ("relu", "leaky_relu", "none")
AGGREGATIONS = ("add", "mean", "max")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Shape of the encoder and its decoder, and the weights of their losses.

    Attributes:
        layers: kind of each message-passing layer, first to last (``gin`` reads edge features too);
            ``("own",)`` for a module of one's own, which ``pretrain(network=)`` gives.
        hidden_channels: width of every layer but the last.
        out_channels: width p of an embedding.
        edge_channels: hidden width of the network from edge features to ``nnconv``'s matrices.
        decoder_channels: hidden width of the decoder heads.
        activation: between layers: ``relu``, ``leaky_relu`` or ``none``; the last layer has none.
        aggregation: how ``nnconv`` combines messages: ``add``, ``mean`` or ``max``.
        batch_norm: whether hidden layers are batch-normalised before the activation.
        normalise: whether embeddings are scaled to length 1.
        variational: learn a distribution per node (VGAE); its mean is the embedding.
        alpha: weight of the node heads.
        beta: weight of the edge heads.
        gamma: weight of the contrastive adjacency loss.
        kl_weight: weight of the divergence from the unit Gaussian, with `variational`.
        temperature: of the contrastive loss.
        negatives: nodes that are no neighbours, drawn per edge for the contrastive loss.
        text_width: width of reduced texts where the attribute's ``reduce`` is None; None keeps all.
    """

    layers: tuple[str, ...] = ("nnconv", "sage")
    hidden_channels: int = 32
    out_channels: int = 16
    edge_channels: int = 32
    decoder_channels: int = 32
    activation: str = "relu"
    aggregation: str = "add"
    batch_norm: bool = True
    normalise: bool = True
    variational: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    kl_weight: float = 0.01
    temperature: float = 0.5
    negatives: int = 5
    text_width: int | None = 32

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(self.layers))
        if not self.layers:
            raise UsageError(f"EncoderConfig(layers=()): name at least one of {', '.join(LAYERS)}")
        if OWN in self.layers and (len(self.layers) > 1 or self.variational):
            raise UsageError(
                f"EncoderConfig(layers={self.layers}, variational={self.variational}): a module of "
                "one's own is the whole stack, and not variational"
            )
        for layer in self.layers:
            if layer not in (*LAYERS, OWN):
                raise UsageError(f"EncoderConfig: {suggest('layer', layer, LAYERS)}")
        if self.activation not in ACTIVATIONS:
            message = suggest("activation", self.activation, ACTIVATIONS)
            raise UsageError(f"EncoderConfig: {message}")
        if self.aggregation not in AGGREGATIONS:
            message = suggest("aggregation", self.aggregation, AGGREGATIONS)
            raise UsageError(f"EncoderConfig: {message}")
        for name in (
            "hidden_channels",
            "out_channels",
            "edge_channels",
            "decoder_channels",
            "negatives",
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"EncoderConfig({name}={getattr(self, name)}): at least 1")
        if self.text_width is not None and self.text_width < 1:
            raise UsageError(f"EncoderConfig(text_width={self.text_width}): at least 1, or None")
        if self.temperature <= 0:
            raise UsageError(f"EncoderConfig(temperature={self.temperature}): above 0")


@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """Configuration of the pre-training of an encoder.

    Attributes:
        states: how many states to keep over all environments.
        batch_size: states per gradient step.
        max_steps: most gradient steps.
        learning_rate: of Adam at the start; halved whenever the held-out loss stops falling.
        evaluate_every: gradient steps between looks at the held-out states.
        patience: looks within which the held-out loss has to fall by 1 %, else training stops.
        held_out: share of the environments (of the states, where there is one) held out.
    """

    states: int = 1200
    batch_size: int = 32
    max_steps: int = 500
    learning_rate: float = 0.01
    evaluate_every: int = 25
    patience: int = 5
    held_out: float = 0.15

    def __post_init__(self) -> None:
        for name in ("states", "batch_size", "max_steps", "evaluate_every", "patience"):
            if getattr(self, name) < 1:
                raise UsageError(f"PretrainConfig({name}={getattr(self, name)}): at least 1")
        if not 0 < self.held_out < 1:
            raise UsageError(f"PretrainConfig(held_out={self.held_out}): between 0 and 1")
