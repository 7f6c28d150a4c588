"""Spaces of hyper-parameters: the paper's, or a user's from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.errors import UsageError, suggest
from lagco.store import read_toml
from lagco.study.results.paper import PAPER_JUDGES, paper_parameter, paper_tables
from lagco.study.settings import config_class, known_methods

_ENCODER_SECTIONS: dict[str, type] = {"shape": EncoderConfig, "pretraining": PretrainConfig}
SECTIONS = ("agent", *_ENCODER_SECTIONS)
_STACKS = {2: ["nnconv", "sage"], 3: ["nnconv", "sage", "sage"]}


@dataclass(frozen=True)
class SearchSpace:
    """Parameters to choose, and the method by which they are judged.

    Attributes:
        name: for people.
        method: whose training and validation score judges a choice.
        domains: ``SECTION.FIELD`` to a list of choices or a range ``{"low", "high", "log"}``;
            sections are ``agent`` (the configuration of the method), ``shape`` and
            ``pretraining`` (those of its encoder).
    """

    name: str
    method: str
    domains: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = known_methods()
        if self.method not in known:
            raise UsageError(f"search space {self.name!r}: {suggest('method', self.method, known)}")
        if not self.domains:
            raise UsageError(f"search space {self.name!r} has no parameters")
        for path, domain in self.domains.items():
            self._check(path, domain)

    @property
    def searches_encoder(self) -> bool:
        """Whether trials may use encoders of their own."""
        return any(path.partition(".")[0] in _ENCODER_SECTIONS for path in self.domains)

    def _check(self, path: str, domain: Any) -> None:
        section, _, name = path.partition(".")
        where = f"search space {self.name!r}"
        if section not in SECTIONS:
            raise UsageError(f"{where}: {suggest('section', section, SECTIONS)}")
        owner = _ENCODER_SECTIONS.get(section) or config_class(self.method)
        known = [entry.name for entry in fields(owner)]
        if name not in known:
            raise UsageError(f"{where}: {suggest(f'parameter of {section}', name, known)}")
        if isinstance(domain, list) and domain:
            return
        if isinstance(domain, dict) and {"low", "high"} <= domain.keys() <= {"low", "high", "log"}:
            low, high = domain["low"], domain["high"]
            numbers = all(isinstance(v, int | float) for v in (low, high))
            if numbers and low < high and not (domain.get("log") and low <= 0):
                return
        raise UsageError(
            f"{where}: {path} = {domain!r}; give a list of choices, or {{low = …, high = …}} with "
            "low < high (and log = true for positive values)"
        )


def paper_space(name: str) -> SearchSpace:
    """One of the paper's search spaces: ``discrete``, ``projection``, ``iterative``, ``gae``."""
    found = paper_tables()["search_spaces"][name]
    domains: dict[str, Any] = {}
    for parameter, entry in found.items():
        path = paper_parameter(name, parameter)
        choices: list[Any] = list(entry["choices"])
        domains[path] = [_STACKS[c] for c in choices] if path == "shape.layers" else choices
    return SearchSpace(name, PAPER_JUDGES[name], domains)


def read_space(source: str) -> SearchSpace:
    """A search space of the paper by name, or a user's from a TOML file."""
    known = paper_tables()["search_spaces"]
    if source in known:
        return paper_space(source)
    path = Path(source)
    if not path.suffix == ".toml":
        raise UsageError(f"{suggest('search space', source, known)}; your own is a .toml file")
    content = read_toml(path)
    name, method = content.pop("name", path.stem), content.pop("method", "projection")
    domains: dict[str, Any] = {}
    for section, entries in content.items():
        if not isinstance(entries, dict):
            raise UsageError(f"{path}: {suggest('key', section, ['name', 'method', *SECTIONS])}")
        domains |= {f"{section}.{parameter}": domain for parameter, domain in entries.items()}
    try:
        return SearchSpace(str(name), str(method), domains)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
