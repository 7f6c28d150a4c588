"""The trained encoder of a problem: per view its features, its weights and how to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration
from lagco.core.graph import GraphView
from lagco.core.graphs.columns import Column
from lagco.core.spec import Attribute
from lagco.embedding.config import OWN, EncoderConfig
from lagco.embedding.features.extraction import AttributeReader, fit_reader
from lagco.embedding.features.layout import (
    TableLayout,
    ViewLayout,
    bind_table,
    layout_hash,
    table_layout,
)
from lagco.embedding.features.matrices import ViewFeatures
from lagco.embedding.messages import message_width
from lagco.embedding.text import extractor as text
from lagco.errors import UsageError
from lagco.results.described import SelfDescribing
from lagco.store import sha256

if TYPE_CHECKING:
    from lagco.embedding.embedder import Embedder
    from lagco.embedding.network.module import GraphEncoder
    from lagco.embedding.pretraining.reconstruction import GraphDecoder


#: (node width, message width, out channels) -> torch module, see OwnGraphEncoder
NetworkClass: TypeAlias = Callable[[int, int, int], Any]


@dataclass
class ViewEncoder:
    """Encoder of one graph view.

    Attributes:
        name: of the view.
        config: shape of the network.
        layout: columns of its features.
        node_readers: from attribute to its reader.
        edge_readers: likewise.
        weights: parameters and buffers of :class:`~lagco.embedding.network.module.GraphEncoder`.
        decoder_weights: those of its
            :class:`~lagco.embedding.pretraining.reconstruction.GraphDecoder`.
        network_class: makes the user's own module, where the encoder is one.
    """

    name: str
    config: EncoderConfig
    layout: ViewLayout
    node_readers: dict[str, AttributeReader]
    edge_readers: dict[str, AttributeReader]
    weights: dict[str, Array] = field(default_factory=dict)
    decoder_weights: dict[str, Array] = field(default_factory=dict)
    network_class: NetworkClass | None = None

    def features(self) -> ViewFeatures:
        """A fresh reader of this view's features."""
        return ViewFeatures(self.name, self.layout, self.node_readers, self.edge_readers)

    def new_network(self) -> GraphEncoder:
        """An untrained torch module of the right shape."""
        from lagco.embedding.network.module import GraphEncoder, OwnGraphEncoder

        widths = self.layout.nodes.width, message_width(self.layout)
        if self.config.layers != (OWN,):
            return GraphEncoder(self.config, *widths)
        if self.network_class is None:
            raise UsageError(
                f"the encoder of view {self.name!r} is a torch module of the user's own, of which "
                "a file holds only the state; give encoder_class=, what made it in pre-training"
            )
        return OwnGraphEncoder(self.config, *widths, self.network_class)

    def new_decoder(self) -> GraphDecoder:
        """An untrained decoder of the right shape."""
        from lagco.embedding.pretraining.reconstruction import GraphDecoder

        return GraphDecoder(self.config, self.layout)

    @cached_property
    def network(self) -> GraphEncoder:
        """The trained torch module, in evaluation mode."""
        network = self.new_network()
        network.load_state_dict(_tensors(self.weights))
        return network.eval()

    @cached_property
    def decoder(self) -> GraphDecoder:
        """The trained decoder, in evaluation mode."""
        decoder = self.new_decoder()
        decoder.load_state_dict(_tensors(self.decoder_weights))
        return decoder.eval()

    def adopt(self, network: GraphEncoder, decoder: GraphDecoder) -> None:
        """Take over trained modules."""
        self.renew(network)
        self.decoder_weights = _arrays(decoder)
        self.__dict__.pop("decoder", None)

    def renew(self, network: GraphEncoder) -> None:
        """Take over a module that was trained further; embedders made before keep the old one."""
        self.weights = _arrays(network)
        for name in ("network", "compiled_weights"):
            self.__dict__.pop(name, None)

    @cached_property
    def compiled_weights(self) -> Any:
        """Folded weights of the compiled path; None where this stack has to run in torch."""
        from lagco.embedding.inference.view_encoder import fold_weights

        return fold_weights(self.config, self.weights)


@dataclass(repr=False)
class Encoder(SelfDescribing):
    """One encoder per graph view of a problem.

    Attributes:
        views: by name.
        curves: loss per head at every look of the pre-training: dicts with ``view``, ``step``,
            ``split`` (``train`` or ``held-out``), ``head`` and ``loss``.
        training: what determined the pre-training (seed, states, steps).
        text_model: name of the model that embedded texts; None without texts.
        measured: what was measured in it (seconds).
    """

    views: dict[str, ViewEncoder]
    curves: list[dict[str, Any]] = field(default_factory=list)
    training: dict[str, Any] = field(default_factory=dict)
    text_model: str | None = None
    measured: dict[str, Any] = field(default_factory=dict)

    @property
    def network_class(self) -> NetworkClass | None:
        """Class of its modules, where the user gave one."""
        return next(iter(self.views.values())).network_class

    def facts(self) -> dict[str, object]:
        """Problem, views, width of an embedding and states of the pre-training."""
        about: dict[str, object] = {"problem": self.training.get("problem", "unknown")}
        about |= {"views": ", ".join(self.views), "width": self.width}
        return about | {"states": self.training.get("states", 0)}

    @property
    def layout(self) -> dict[str, ViewLayout]:
        """Columns of the feature matrices, per view."""
        return {name: view.layout for name, view in self.views.items()}

    @property
    def layout_hash(self) -> str:
        """Identity of the features this encoder reads."""
        return layout_hash(self.layout)

    @property
    def content_hash(self) -> str:
        """Identity of the features and of the weights."""
        parts = [self.layout_hash]
        for view in self.views.values():
            parts += [
                f"{k}:{sha256(np.ascontiguousarray(v).tobytes())}"
                for k, v in sorted(view.weights.items())
            ]
        return sha256("\n".join(parts).encode())

    @property
    def width(self) -> int:
        """Width p of an embedding."""
        return next(iter(self.views.values())).config.out_channels

    def embedder(
        self, declaration: Declaration | None = None, *, compiled: bool = True
    ) -> Embedder:
        """A stateful embedder for one environment.

        Args:
            declaration: of that environment; given, it is checked as in :meth:`bind`.
            compiled: False runs every stack in torch.
        """
        from lagco.embedding.embedder import Embedder

        if declaration is not None:
            self.bind(declaration)
        self._check_text_model()
        return Embedder(self, compiled=compiled)

    def embed_batch(
        self, states: Sequence[Mapping[str, GraphView]], *, compiled: bool = True
    ) -> list[dict[str, Array]]:
        """Embeddings of many states, remembering nothing: per state, view to (n, p)."""
        from lagco.embedding.embedder import embed_batch

        self._check_text_model()
        return embed_batch(self, states, compiled=compiled)

    def bind(self, declaration: Declaration) -> None:
        """Check that an environment declares what this encoder was trained on, and take over the
        callables of its declaration (they are not stored).

        Raises:
            UsageError: says which attribute differs and how.
        """
        names = list(declaration.node_attributes)
        if sorted(names) != sorted(self.views):
            raise UsageError(
                f"the encoder was trained on the views {', '.join(self.views)}, the environment "
                f"has {', '.join(names)}"
            )
        for name, view in self.views.items():
            nodes = bind_table(
                f"view {name!r}, nodes", view.layout.nodes, declaration.node_attributes[name]
            )
            edges = bind_table(
                f"view {name!r}, edges", view.layout.edges, declaration.edge_attributes[name]
            )
            view.layout = ViewLayout(nodes, edges, view.layout.directed)
            view.node_readers = rebound(view.node_readers, nodes)
            view.edge_readers = rebound(view.edge_readers, edges)

    def save(self, folder: str | Path) -> None:
        """Write the encoder to `folder` (safetensors and JSON)."""
        from lagco.embedding.storage import save_encoder

        save_encoder(self, Path(folder))

    @classmethod
    def load(
        cls,
        folder: str | Path,
        declaration: Declaration | None = None,
        *,
        encoder_class: NetworkClass | None = None,
    ) -> Encoder:
        """Read an encoder; nothing in the files is ever executed.

        Args:
            folder: where :meth:`save` wrote it.
            declaration: of the environment it will be used with: checked, and needed where an
                attribute has a callable as its extractor or pooling.
            encoder_class: what made the module in pre-training, where that is of the user's own.
        """
        from lagco.embedding.storage import load_encoder

        encoder = load_encoder(Path(folder), encoder_class=encoder_class)
        if declaration is not None:
            encoder.bind(declaration)
        return encoder

    def write_curves(self, path: str | Path) -> None:
        """Write the loss curves as CSV."""
        from lagco.embedding.storage import write_curves

        write_curves(self.curves, Path(path))

    def _check_text_model(self) -> None:
        if self.text_model is not None and self.text_model != text.model_name():
            raise UsageError(
                f"the encoder was trained on texts embedded by {self.text_model!r}, now it is "
                f"{text.model_name()!r}; see lagco.embedding.text.extractor.use_text_encoder"
            )


def rebound(
    readers: Mapping[str, AttributeReader], table: TableLayout
) -> dict[str, AttributeReader]:
    """The readers with the attributes of `table`."""
    return {
        entry.name: AttributeReader(
            readers[entry.name].owner, entry.attribute, entry.width, readers[entry.name].reduction
        )
        for entry in table
    }


def fit_encoder(
    declaration: Declaration,
    snapshots: Sequence[Mapping[str, GraphView]],
    config: EncoderConfig,
    network: NetworkClass | None = None,
) -> Encoder:
    """An encoder without weights: widths and text reductions settled by the training states."""
    views = {}
    uses_text = False
    for name in declaration.node_attributes:
        states = [snapshot[name] for snapshot in snapshots]
        node_readers = _fit_readers(
            f"view {name!r}, node attribute",
            declaration.node_attributes[name],
            [state.nodes for state in states],
            config,
        )
        edge_readers = _fit_readers(
            f"view {name!r}, edge attribute",
            declaration.edge_attributes[name],
            [state.edge_attributes for state in states],
            config,
        )
        layout = ViewLayout(
            _table(declaration.node_attributes[name], node_readers),
            _table(declaration.edge_attributes[name], edge_readers),
            states[0].directed,
        )
        views[name] = ViewEncoder(
            name, config, layout, node_readers, edge_readers, network_class=network
        )
        every = (*layout.nodes, *layout.edges)
        uses_text |= any(entry.attribute.extractor == "bert" for entry in every)
    return Encoder(views, text_model=text.model_name() if uses_text else None)


def _fit_readers(
    owner: str,
    attributes: Mapping[str, Attribute],
    states: Sequence[Mapping[str, Column]],
    config: EncoderConfig,
) -> dict[str, AttributeReader]:
    return {
        name: fit_reader(
            f"{owner} {name!r}",
            attribute,
            [s[name] for s in states if name in s],
            config.text_width,
        )
        for name, attribute in attributes.items()
    }


def _table(
    attributes: Mapping[str, Attribute], readers: Mapping[str, AttributeReader]
) -> TableLayout:
    return table_layout(attributes, {name: reader.width for name, reader in readers.items()})


def _tensors(weights: Mapping[str, Array]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}


def _arrays(module: Any) -> dict[str, Array]:
    return {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}
