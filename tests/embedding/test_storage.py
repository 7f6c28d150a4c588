"""Encoders on disk: the same after reading, and errors that name the file."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from lagco.core.declaring.declaration import read_declaration
from lagco.core.pooling import Sum
from lagco.core.spec import Attribute
from lagco.embedding import Encoder, EncoderConfig, EncoderFileError, pretrain_on
from lagco.embedding.storage import ENCODER
from lagco.errors import SpecError, UsageError
from tests.embedding.environments import BRIEF, PROBLEMS, Growing, brief_encoder
from tests.store.forging import forge
from tests.store.forging import put as _set


@pytest.fixture
def folder(tmp_path):
    brief_encoder("tsp", "full").save(tmp_path)
    return tmp_path


@pytest.mark.parametrize("layers", [("nnconv", "sage"), ("gat", "gin", "edgeconv"), ("gcn",)])
@pytest.mark.parametrize("variational", [False, True])
def test_round_trip(tmp_path, layers, variational):
    encoder = brief_encoder("tsp", "full", EncoderConfig(layers=layers, variational=variational))
    encoder.save(tmp_path)
    loaded = Encoder.load(tmp_path)
    assert loaded.layout_hash == encoder.layout_hash
    assert loaded.curves == encoder.curves and loaded.training == encoder.training
    env = PROBLEMS["tsp"](size=12)
    env.reset(seed=0)
    views = env.graph_views()
    assert np.array_equal(encoder.embedder()(views)["cities"], loaded.embedder()(views)["cities"])
    loaded.bind(read_declaration(env, views))
    head = next(iter(loaded.views["cities"].decoder.nodes.heads.values()))
    assert head[0].weight.shape[0] == 32


def test_deciding_needs_no_torch(folder):
    code = (
        "import sys; from lagco.embedding import Encoder; from lagco.problems.tsp import TSP; "
        f"z = Encoder.load({str(folder)!r}).embedder()(TSP(size=9).graph_views()); "
        "assert z['cities'].shape == (9, 16); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def length_of(word):
    """An extractor."""
    return [len(word)]


def twice_the_length_of(word):
    """Another one."""
    return [2 * len(word)]


class Named(Growing):
    """Growing, with a callable in its declaration."""

    def __init__(self, extractor=length_of, **changes):
        super().__init__(attributes=True)
        kind = Attribute(**({"extractor": extractor, "pooling": Sum} | changes))
        self._node_attributes = {"kind": kind, "old": Attribute(type="binary")}


def declaration_of(env):
    env.reset(seed=0)
    env.step(0)
    while not env.graph.edges:
        env.step(0)
    return read_declaration(env, env.graph_views())


def test_callables_come_from_the_declaration(tmp_path):
    env = Named()
    encoder = pretrain_on([env], training=BRIEF)
    encoder.save(tmp_path)
    wanted = encoder.embedder()(env.graph_views())["graph"]
    loaded = Encoder.load(tmp_path)
    with pytest.raises(SpecError, match=r"test_storage:length_of is not stored.*declaration"):
        loaded.embedder()(env.graph_views())
    bound = Encoder.load(tmp_path, declaration_of(Named()))
    assert np.array_equal(bound.embedder()(env.graph_views())["graph"], wanted)
    with pytest.raises(SpecError, match=r"'kind'.*twice_the_length_of.*trained.*length_of"):
        Encoder.load(tmp_path, declaration_of(Named(twice_the_length_of)))
    with pytest.raises(SpecError, match=r"'kind'.*norm='l1', trained None"):
        Encoder.load(tmp_path, declaration_of(Named(norm="l1")))
    with pytest.raises(SpecError, match="trained with the attributes kind, old, the environment"):
        Encoder.load(tmp_path, declaration_of(Growing()))


def test_a_direction_that_differs_is_named():
    encoder = pretrain_on([Growing()], training=BRIEF)
    env = Growing(directed=True)
    env.reset(seed=0)
    with pytest.raises(SpecError, match="directed, the encoder was trained on undirected"):
        encoder.embedder()(env.graph_views())
    with pytest.raises(UsageError, match="trained on the views graph, this state has other"):
        encoder.embedder()({"other": env.graph_views()["graph"]})


def test_missing_files_are_named(tmp_path, folder):
    with pytest.raises(EncoderFileError, match=r"nowhere.*encoder\.json: no such folder"):
        Encoder.load(tmp_path / "nowhere")
    (folder / "encoder.safetensors").unlink()
    with pytest.raises(EncoderFileError, match=r"encoder\.safetensors: no such file"):
        Encoder.load(folder)


@pytest.mark.parametrize("name", ["encoder.json", "encoder.safetensors"])
def test_any_damaged_byte_is_noticed(folder, name):
    content = (folder / name).read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(len(content), size=25):
        damaged = bytearray(content)
        damaged[position] ^= 1 << int(rng.integers(8))
        (folder / name).write_bytes(bytes(damaged))
        try:
            Encoder.load(folder)
        except EncoderFileError as error:
            assert name in str(error)
        else:  # white space between JSON values carries nothing
            assert name == "encoder.json" and content[position : position + 1].isspace()
    for cut in (0, 1, len(content) // 2, len(content) - 1):
        (folder / name).write_bytes(content[:cut])
        if not (name == "encoder.json" and cut == len(content) - 1):  # the last newline
            with pytest.raises(EncoderFileError, match=name):
                Encoder.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("views", value=[]), r"views: is \[\], it must be an object"),
        (_set("views", "cities", "config", "layers", value=["x"]), r"layers\[0\]: is 'x'"),
        (_set("views", "cities", "config", "hidden_channels", value=10**9), "hidden_channels"),
        (_set("views", "cities", "config", "hidden_channels", value=31), "shape"),
        (_set("views", "cities", "config", "alpha", value="1"), "alpha"),
        (_set("views", "cities", "config", "surprise", value=1), "surprise"),
        (_set("views", "cities", "layout", "nodes", "visited", "width", value=-1), "width"),
        (
            _set("views", "cities", "layout", "nodes", "visited", "width", value=2),
            "starts at|implies 1",
        ),
        (_set("views", "cities", "layout", "nodes", "visited", "static", value=True), "hash"),
        (_set("layout_hash", value=None), "hash"),
        (_set("curves", value=None), "curves: is None, it must be an array"),
        (
            _set("views", "cities", "layout", "nodes", "visited", "categories", value=10**12),
            "visited.categories: is 1000000000000",
        ),
        (_set("views", "cities", "index", value=3), "stands at 0, not 3"),
        (_set("views", "cities", "reductions", value=[["nodes", "visited"]]), "is missing"),
    ],
)
def test_hostile_descriptions(folder, change, message):
    forge(ENCODER, folder, change)
    with pytest.raises(EncoderFileError, match=message) as caught:
        Encoder.load(folder)
    assert str(folder) in str(caught.value)


def _poison(arrays):
    arrays["0.encoder.layers.0.bias"][3] = np.nan


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (_poison, "not finite"),
        (lambda arrays: arrays.pop("0.encoder.layers.0.bias"), "is missing"),
        (_set("0.encoder.extra", value=np.zeros(2, np.float32)), "belong nowhere"),
        (_set("0.encoder.layers.0.bias", value=np.zeros(5, np.float32)), r"shape \(5,\)"),
        (_set("0.encoder.layers.0.bias", value=np.zeros(32)), "type float64"),
    ],
)
def test_hostile_tensors(folder, tensors, message):
    forge(ENCODER, folder, tensors=tensors)
    with pytest.raises(EncoderFileError, match=message) as caught:
        Encoder.load(folder)
    assert "encoder.safetensors" in str(caught.value)


def test_the_order_of_attributes_is_part_of_the_file(folder):
    def turn(content):
        nodes = content["views"]["cities"]["layout"]["nodes"]
        for name in reversed(list(nodes)):
            nodes[name] = nodes.pop(name)

    forge(ENCODER, folder, turn)
    with pytest.raises(EncoderFileError, match="starts at"):
        Encoder.load(folder)


def test_links_are_not_followed(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "t"
    (folder / "encoder.safetensors").rename(other)
    (folder / "encoder.safetensors").symlink_to(other)
    with pytest.raises(EncoderFileError, match="is a link"):
        Encoder.load(folder)


def test_pickles_are_no_encoders(folder):
    import pickle

    (folder / "encoder.json").write_bytes(pickle.dumps({"format": "lagco-encoder"}))
    with pytest.raises(EncoderFileError, match="not JSON"):
        Encoder.load(folder)


def test_equal_encoders_are_equal_files(folder, tmp_path_factory):
    """What was measured, such as seconds, is kept apart from what came out."""
    encoder = brief_encoder("tsp", "full")
    assert encoder.measured["seconds"] > 0 and "seconds" not in encoder.training
    other = tmp_path_factory.mktemp("other")
    replace(encoder, measured={"seconds": encoder.measured["seconds"] + 1}).save(other)
    first, second = (ENCODER.read(place) for place in (folder, other))
    assert first.checksum == second.checksum and first.content == second.content
    assert first.measured != second.measured
    tensors = [(place / "encoder.safetensors").read_bytes() for place in (folder, other)]
    assert tensors[0] == tensors[1]


@pytest.mark.parametrize("changes", [{"version": 99}, {"version": 1}, {"format": "other"}])
def test_other_versions_are_named_with_a_remedy(folder, changes):
    path = folder / "encoder.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(EncoderFileError, match="not an encoder|install|pre-train it again"):
        Encoder.load(folder)
