"""Originals of a kind of file, and mutants of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.attack.described import Layer, sealed_mutant, unsealed_mutant
from tests.attack.mutate import mutated_bytes, mutated_text


@dataclass
class Variant:
    """Files of one kind, and what reads them.

    Attributes:
        files: content by place.
        load: of a folder; may refuse it.
        use: of what was loaded; its behaviour, to be compared.
        layers: described files among them; without, mutants are texts and may be anything.
        mutable: places that are changed where there are no layers; all without.
    """

    files: dict[str, bytes]
    load: object
    use: object
    layers: tuple[Layer, ...] = ()
    mutable: tuple[str, ...] = ()

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
        change = mutated_bytes if rng.random() < 0.25 else mutated_text
        return self.files | {place: change(rng, self.files[place])}, True

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

    def mutant(self, rng):
        return super().mutant(rng)[0], True
