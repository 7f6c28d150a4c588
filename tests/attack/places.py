"""What may stand where a plain file is expected: links, named pipes, folders, files of holes."""

from __future__ import annotations

import os
from dataclasses import dataclass

#: sizes of sparse files: beyond every limit, and within the largest
SIZES = (3 << 30, 200 << 20, 1 << 20)


@dataclass(frozen=True)
class Place:
    """One thing of another kind, in the place of a file or folder of the mutant.

    Attributes:
        name: file or folder inside the mutant; of a folder all that is in it is linked.
        kind: of :data:`KINDS`.
        size: of a sparse file.
    """

    name: str
    kind: str
    size: int = 0

    def make(self, folder):
        path = folder / self.name
        kept = folder.with_name(f"{folder.name}-kept")
        kept.mkdir(exist_ok=True)
        KINDS[self.kind](path, kept / path.name, self.size)


def _linked(path, kept, size):
    """A link to what stood there, as it was: reading must not leave the folder."""
    path.rename(kept)
    path.symlink_to(kept)


def _linked_within(path, kept, size):
    path.rename(path.with_name(f"{path.name}.kept"))
    path.symlink_to(f"{path.name}.kept")


def _endless(path, kept, size):
    path.rename(kept)
    path.symlink_to("/dev/zero")


def _circle(path, kept, size):
    path.rename(kept)
    path.symlink_to(path.name)


def _pipe(path, kept, size):
    path.rename(kept)
    os.mkfifo(path)


def _folder(path, kept, size):
    path.rename(kept)
    path.mkdir()


def _sparse(path, kept, size):
    path.rename(kept)
    with path.open("wb") as stream:
        stream.truncate(size)


def _sparse_end(path, kept, size):
    """The file as it was, and holes behind it."""
    os.truncate(path, size)


#: all but links that people may set themselves keep a file from being read
KINDS = {
    "linked": _linked, "linked within": _linked_within, "endless": _endless, "circle": _circle,
    "pipe": _pipe, "folder": _folder, "sparse": _sparse, "sparse end": _sparse_end,
}  # fmt: skip
#: what a folder can be
FOLDER_KINDS = ("linked", "linked within", "circle", "pipe", "sparse")


def odd_place(rng, files):
    """A random file or folder of `files`, and what stands there instead."""
    folders = sorted({name.rpartition("/")[0] for name in files} - {""})
    name = rng.choice([*sorted(files), *folders])
    kind = rng.choice(FOLDER_KINDS if name in folders else tuple(KINDS))
    return Place(name, kind, rng.choice(SIZES))
