"""Agents for use without this library: the policy network in ONNX, or a folder for numpy alone."""

from lagco.agents.export.onnx import export_onnx
from lagco.agents.export.runtime import export_runtime

__all__ = ["export_onnx", "export_runtime"]
