"""Alias for numpy arrays whose dtype and shape are given in docstrings."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
