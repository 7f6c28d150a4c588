"""The policy network of an agent as an ONNX file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lagco.agents.agent import Agent
from lagco.agents.inference.perceptron import SLOPE, Network, Perceptron, TorchPass, perceptron
from lagco.errors import UsageError, require_extra
from lagco.store import write_atomically

_OPSET = 17
_OPERATORS = {"leaky_relu": "LeakyRelu", "relu": "Relu", "tanh": "Tanh", "elu": "Elu"}


def export_onnx(agent: Agent, path: str | Path) -> None:
    """Write the network that decides: ``observation`` (B, inputs) to ``output`` (B, outputs).

    The output is the proto-action before it is cut to the bounds of the space, or the logits; of a
    Q network, whose input is observation and action vector, the value.
    """
    onnx: Any = require_extra("onnx", "export", f"exporting to {Path(path).name}")
    prefix = "policy" if any(name.startswith("policy.") for name in agent.weights) else "q"
    network: Network = perceptron(agent.weights, prefix)
    if isinstance(network, TorchPass):
        write_atomically(path, _traced(network))
        return
    assert isinstance(network, Perceptron)
    write_atomically(path, _layers(onnx, network).SerializeToString())


def _layers(onnx: Any, network: Perceptron) -> Any:
    helper, tensors, nodes = onnx.helper, [], []
    value = "observation"
    for number, (weight, bias) in enumerate(network.layers):
        for name, array in ((f"weight{number}", weight), (f"bias{number}", bias)):
            tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        last = number == len(network.layers) - 1
        out = "output" if last else f"linear{number}"
        nodes.append(helper.make_node("Gemm", [value, f"weight{number}", f"bias{number}"], [out]))
        value = out
        if not last:
            options = {"alpha": float(SLOPE)} if network.activation == "leaky_relu" else {}
            value = f"hidden{number}"
            kind = _OPERATORS[network.activation]
            nodes.append(helper.make_node(kind, [out], [value], **options))
    numbers = onnx.TensorProto.FLOAT
    given = helper.make_tensor_value_info("observation", numbers, ["batch", network.inputs])
    found = helper.make_tensor_value_info("output", numbers, ["batch", network.outputs])
    graph = helper.make_graph(nodes, "policy", [given], [found], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def _traced(network: TorchPass) -> bytes:
    """A module of the user's own, as torch traces it."""
    import torch

    module = network.network.module.eval()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.onnx"
        try:
            torch.onnx.export(
                module,
                (torch.zeros(1, network.inputs),),
                path,
                input_names=["observation"],
                output_names=["output"],
                dynamic_axes={"observation": {0: "batch"}, "output": {0: "batch"}},
                opset_version=_OPSET,
                dynamo=False,
            )
        except RuntimeError as error:  # the exporter's own errors among them
            name = type(module).__name__
            raise UsageError(f"torch cannot write {name} as ONNX ({error})") from error
        return path.read_bytes()
