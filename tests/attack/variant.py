"""Originals of a kind of file, and mutants of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.attack.described import Layer, sealed_mutant, unsealed_mutant
from tests.attack.mutate import mutated_bytes, mutated_text, with_long_token
from tests.attack.places import odd_place

#: share of mutants in which a file is of another kind: a link, a pipe, a folder, holes
ODD = 0.05


@dataclass
class Variant:
    """Files of one kind, and what reads them.

    Attributes:
        files: content by place.
        load: of a folder; may refuse it.
        use: of what was loaded; its behaviour, to be compared.
        layers: described files among them; without, mutants are texts and may be anything.
        mutable: places that are changed where there are no layers, and that may be of another kind
            where there are; all without.
        follows: whether a link to a file is as good as the file, since people name it.
    """

    files: dict[str, bytes]
    load: object
    use: object
    layers: tuple[Layer, ...] = ()
    mutable: tuple[str, ...] = ()
    follows: bool = False

    @cached_property
    def behaviour(self):
        """What the original does."""
        with tempfile.TemporaryDirectory() as folder:
            self.write(Path(folder), self.files)
            return self.use(self.load(Path(folder)))

    def mutant(self, rng):
        """Mutated files, and whether their checksums are right."""
        if self.layers:
            sealed = rng.random() < 0.65
            return (sealed_mutant if sealed else unsealed_mutant)(
                rng, self.files, self.layers
            ), sealed
        place = rng.choice(self.mutable or sorted(self.files))
        choice = rng.random()
        change = (
            mutated_bytes if choice < 0.2 else with_long_token if choice < 0.3 else mutated_text
        )
        return self.files | {place: change(rng, self.files[place])}, True

    @property
    def stays_inside(self):
        """Whether reading may follow no link: what a file names must lie beside it."""
        return bool(self.layers) and not self.follows

    def odd(self, rng):
        """What stands in the place of a file, in few mutants; None in the others."""
        return odd_place(rng, self.mutable or self.files) if rng.random() < ODD else None

    @staticmethod
    def write(folder, files):
        for place, content in files.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def files_of(folder):
    folder = Path(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def written(write):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return files_of(folder)


class Overlooked(Variant):
    """Files of which a damaged one counts as none."""

    stays_inside = False

    def mutant(self, rng):
        return super().mutant(rng)[0], True
