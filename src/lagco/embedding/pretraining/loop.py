"""The training loop of one view's encoder and decoder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.embedding.config import PretrainConfig
from lagco.embedding.encoder import ViewEncoder
from lagco.embedding.pretraining.states import ViewState, collate
from lagco.errors import LagcoError

if TYPE_CHECKING:
    from torch import Tensor

    from lagco.embedding.network.module import GraphBatch, GraphEncoder
    from lagco.embedding.pretraining.reconstruction import GraphDecoder

#: a held-out loss that falls by a smaller share is flat
_FLAT = 0.01
#: Called with view, gradient step, most steps, held-out loss.
Progress = Callable[[str, int, int, float], None]


def seeded_modules(view: ViewEncoder, seed: int) -> tuple[GraphEncoder, GraphDecoder]:
    """Freshly initialised modules; the global random state of torch stays as it is."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return view.new_network(), view.new_decoder()


def fit_scales(network: GraphEncoder, decoder: GraphDecoder, states: Sequence[ViewState]) -> None:
    """Set the fixed input and target scales from the training states."""
    import torch

    def moments(parts: list[Any]) -> tuple[Tensor, Tensor]:
        joined = torch.from_numpy(np.concatenate(parts)).double()
        if len(joined) == 0:
            width = joined.shape[1]
            return torch.zeros(width), torch.ones(width)
        return joined.mean(0).float(), joined.std(0, correction=0).float()

    def inverse(deviation: Tensor) -> Tensor:
        return torch.where(deviation < 1e-6, 1.0, 1.0 / deviation.clamp(min=1e-6))

    mean, deviation = moments([state.x for state in states])
    network.node_scale.copy_(inverse(deviation))
    decoder.nodes.fit_scale(mean, deviation)
    mean, deviation = moments([state.message_features for state in states])
    # a constant feature stays as it is: centred, it would vanish
    network.edge_shift.copy_(torch.where(deviation < 1e-6, 0.0, mean))
    network.edge_scale.copy_(inverse(deviation))
    decoder.edges.fit_scale(*moments([state.edge_features for state in states]))


def train_view(
    view: ViewEncoder,
    states: Sequence[ViewState],
    held_out: Sequence[ViewState],
    training: PretrainConfig,
    rng: np.random.Generator,
    progress: Progress | None,
    device: str = "cpu",
) -> tuple[GraphEncoder, GraphDecoder, list[dict[str, Any]]]:
    """Train the encoder of one view; returns both modules and the loss curves."""
    import torch

    network, decoder = seeded_modules(view, int(rng.integers(2**31)))
    fit_scales(network, decoder, states)
    noise = torch.Generator().manual_seed(int(rng.integers(2**31)))
    run = TrainingRun(view.name, network.to(device), decoder.to(device), training, noise)
    run.device = device
    run.fit(states, held_out, rng, progress)
    network.to("cpu")
    decoder.to("cpu")
    calibrate(network, states, training.batch_size)
    return network.eval(), decoder.eval(), run.curves


class TrainingRun:
    """Trains a network and its decoder (or, with `frozen`, the decoder alone).

    Adam; whenever the held-out loss has not fallen for two looks, the learning rate is halved.
    Once it has fallen by less than 1 % within `patience` looks, or after `max_steps`, the best
    weights are taken back.
    """

    def __init__(
        self,
        name: str,
        network: GraphEncoder,
        decoder: GraphDecoder,
        training: PretrainConfig,
        noise: Any,
        *,
        frozen: bool = False,
        early_stopping: bool = True,
    ) -> None:
        self.name, self.network, self.decoder, self.training = name, network, decoder, training
        self.frozen, self.early_stopping = frozen, early_stopping
        self.noise = noise
        self.device = "cpu"
        self.curves: list[dict[str, Any]] = []

    def fit(
        self,
        states: Sequence[ViewState],
        held_out: Sequence[ViewState],
        rng: np.random.Generator,
        progress: Progress | None,
    ) -> None:
        """Train on `states`, stop by `held_out`."""
        import torch

        training = self.training
        modules = [self.decoder] if self.frozen else [self.network, self.decoder]
        parameters = [p for module in modules for p in module.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=training.learning_rate, fused=True)
        batches = _batches(len(states), training.batch_size, rng)
        tests = [
            collate(held_out[k : k + 2 * training.batch_size]).to(self.device)
            for k in range(0, len(held_out), 2 * training.batch_size)
        ]
        best, best_weights, since_cut = np.inf, None, 0
        mark, since_mark = np.inf, 0  # the last loss that was clearly lower
        sums: dict[str, float] = {}
        for step in range(1, training.max_steps + 1):
            self.network.train(not self.frozen)
            batch = collate([states[i] for i in next(batches)]).to(self.device)
            losses = self.losses(batch, int(rng.integers(2**62)))
            optimiser.zero_grad(set_to_none=True)
            total = self.total(losses)
            if not torch.isfinite(total):
                raise LagcoError(
                    f"view {self.name!r}: pre-training diverged at step {step} (loss {total:.3g}); "
                    "lower the learning rate or give large attributes a norm"
                )
            total.backward()
            optimiser.step()
            for head, loss in losses.items():
                sums[head] = sums.get(head, 0.0) + float(loss.detach())
            if step % training.evaluate_every and step < training.max_steps:
                continue
            looked = (step - 1) % training.evaluate_every + 1
            self._record(step, "train", {head: s / looked for head, s in sums.items()})
            sums = {}
            now = self.evaluate(tests)
            self._record(step, "held-out", now)
            value = self._weighted(now)
            if progress is not None:
                progress(self.name, step, training.max_steps, value)
            since_mark += 1
            if _falls(value, mark, _FLAT):
                mark, since_mark = value, 0
            since_cut += 1
            if _falls(value, best, 1e-3):
                best, since_cut = value, 0
                best_weights = [copy.deepcopy(module.state_dict()) for module in modules]
            if since_cut >= 2:
                since_cut = 0
                for group in optimiser.param_groups:
                    group["lr"] *= 0.5
            if since_mark >= training.patience and self.early_stopping:
                break
        if best_weights is not None:
            for module, weights in zip(modules, best_weights, strict=True):
                module.load_state_dict(weights)

    def losses(self, batch: GraphBatch, seed: int) -> dict[str, Tensor]:
        """Loss of every head on one batch, with noise in training mode where variational."""
        import torch

        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            mean, log_variance = self.network.distribution(batch)
        z, divergence = mean, None
        if log_variance is not None:
            if self.network.training:
                deviation = (0.5 * log_variance).exp()
                noise = torch.randn(mean.shape, generator=self.noise)
                z = mean + deviation * noise.to(self.device)
            divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).mean()
        losses = self.decoder.losses(self.network.finish(z), batch, seed)
        if divergence is not None and not self.frozen:
            losses["divergence"] = divergence
        return losses

    def total(self, losses: dict[str, Tensor]) -> Tensor:
        """The weighted sum."""
        heads = {head: loss for head, loss in losses.items() if head != "divergence"}
        total = self.decoder.total(heads)
        if "divergence" in losses:
            total = total + self.network.config.kl_weight * losses["divergence"]
        return total

    def evaluate(self, tests: Sequence[GraphBatch]) -> dict[str, float]:
        """Mean loss of every head over held-out batches, with the same negatives each time."""
        import torch

        self.network.eval()
        sums: dict[str, list[float]] = {}
        with torch.no_grad():
            for index, batch in enumerate(tests):
                for head, loss in self.losses(batch, 7 + index).items():
                    sums.setdefault(head, []).append(float(loss))
        return {head: float(np.mean(values)) for head, values in sums.items()}

    def _weighted(self, losses: dict[str, float]) -> float:
        import torch

        return float(self.total({head: torch.tensor(loss) for head, loss in losses.items()}))

    def _record(self, step: int, split: str, losses: dict[str, float]) -> None:
        for head, loss in losses.items():
            self.curves.append(
                {
                    "view": self.name,
                    "step": step,
                    "split": split,
                    "head": head,
                    "loss": round(loss, 6),
                }
            )


def _falls(value: float, before: float, share: float) -> bool:
    """Whether a loss is lower than before by that share of it at least."""
    return not np.isfinite(before) or value < before - share * abs(before)


def calibrate(network: GraphEncoder, states: Sequence[ViewState], batch_size: int) -> None:
    """Replace the running statistics of batch norms by those over (up to 20 batches of) states."""
    import torch

    norms = [norm for norm in network.norms if isinstance(norm, torch.nn.BatchNorm1d)]
    if not norms or sum(len(state.x) for state in states) < 2:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average
    network.train()
    chosen = np.unique(np.linspace(0, len(states) - 1, min(len(states), 20 * batch_size)).round())
    order = np.random.default_rng(0).permutation(chosen.astype(int))
    with torch.no_grad():
        for k in range(0, len(order), batch_size):
            batch = collate([states[i] for i in order[k : k + batch_size]])
            if len(batch.x) > 1:
                network(batch)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()


def _batches(count: int, size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """Shuffled passes over 0 … count-1, cut into batches, without end."""
    pending: list[int] = []
    while True:
        while len(pending) < size:
            pending += rng.permutation(count).tolist()
        batch, pending = pending[:size], pending[size:]
        yield batch
