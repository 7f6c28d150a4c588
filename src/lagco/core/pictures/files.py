"""Pictures and animations of states as arrays and files: matplotlib without a screen."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.errors import UsageError
from lagco.store import write_atomically

#: side of a picture in inches, and dots per inch: 512 pixels
SIDE, DPI = 4.0, 128

#: suffixes of files that hold an animation
ANIMATED = (".gif", ".webp")

_COLOURS = 96  # of an animation; pictures of few colours need few
_HOLD = 8  # frames that the last state of an animation is shown for
_NARROWEST = 0.3  # height over width of a drawing, or width over height
_INSIDE = 0.98  # share of a figure that titles and legends may take


@contextmanager
def _boxes_for_unknown_signs() -> Iterator[None]:
    """Signs that the font lacks become boxes, without a warning for each of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from")
        yield


@_boxes_for_unknown_signs()
def rgb_array(
    draw: Callable[[Any], None], side: float = SIDE, dpi: float = DPI
) -> npt.NDArray[np.uint8]:
    """Pixels of what `draw` puts on square axes: (side * dpi, side * dpi, 3)."""
    canvas = _canvas(draw, None, side, dpi)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


@_boxes_for_unknown_signs()
def save_picture(
    draw: Callable[[Any], None],
    path: str | Path,
    beside: Callable[[Any], None] | None = None,
    side: float = SIDE,
    dpi: float = DPI,
) -> None:
    """Write what `draw` puts on square axes to a file; the suffix sets the format.

    Args:
        draw: puts something on matplotlib axes.
        path: of the file (png, svg, pdf, …).
        beside: puts something on axes of its own, to the right.
        side: of the square, in inches.
        dpi: dots per inch.
    """
    path = Path(path)
    check_picture(path, side, dpi)
    stream = io.BytesIO()
    figure = _canvas(draw, beside, side, dpi).figure
    figure.savefig(stream, dpi=dpi, format=path.suffix[1:].lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, stream.getvalue())


@_boxes_for_unknown_signs()
def save_figure(figure: Any, path: str | Path, dpi: float = DPI) -> None:
    """Write a matplotlib figure to a file; the suffix sets the format."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    path = Path(path)
    check_picture(path, dpi=dpi)
    stream = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(stream, dpi=dpi, format=path.suffix[1:].lower())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, stream.getvalue())


def save_animation(
    frames: Iterable[npt.NDArray[np.uint8]], path: str | Path, fps: float = 4.0
) -> None:
    """Write frames (height, width, 3) as an animation that is repeated.

    The file begins with the last frame, which stands longer: viewers that do not play show it.
    """
    from PIL import Image

    path = Path(path)
    images = [Image.fromarray(frame) for frame in frames]
    # the same colours serve all frames, so that what does not move does not flicker
    some = np.concatenate([np.asarray(images[i]) for i in (0, len(images) // 2, -1)])
    palette = Image.fromarray(some).quantize(_COLOURS, Image.Quantize.MAXCOVERAGE)
    colours = _most_frequent(some, np.asarray(palette))
    few = [Image.fromarray(_nearest(np.asarray(image), colours)) for image in images]
    for image in few:
        image.putpalette(colours.tobytes())
    frame = round(1000 / fps)
    stream = io.BytesIO()
    few[-1].save(
        stream,
        format=path.suffix[1:].lower(),
        save_all=True,
        append_images=few[:-1],
        duration=[_HOLD * frame] + [frame] * (len(few) - 1),
        loop=0,
        optimize=True,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, stream.getvalue())


def _most_frequent(
    pixels: npt.NDArray[np.uint8], entries: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    """Palette (k, 3) of the colours that most pixels of each entry have: backgrounds stay white.

    Args:
        pixels: (height, width, 3).
        entries: (height, width) entry of each pixel, which would have the mean of their colours.
    """
    found = np.zeros((int(entries.max()) + 1, 3), dtype=np.uint8)
    colours, counts = np.unique(
        np.column_stack((entries.reshape(-1, 1), pixels.reshape(-1, 3))), axis=0, return_counts=True
    )
    for row in colours[np.argsort(counts, kind="stable")]:
        found[row[0]] = row[1:]
    return found


def _nearest(pixels: npt.NDArray[np.uint8], colours: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Entries (height, width) of a palette (k, 3) nearest to pixels (height, width, 3)."""
    found, places = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    apart = found[:, None].astype(np.int32) - colours[None]
    nearest = (apart**2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    return nearest[places].reshape(pixels.shape[:2])


def check_picture(
    path: str | Path, side: float = SIDE, dpi: float = DPI, others: Sequence[str] = ()
) -> None:
    """Refuse a suffix that is neither a picture's nor one of `others`, and sizes out of range."""
    from matplotlib.backend_bases import FigureCanvasBase

    suffix = Path(path).suffix.lstrip(".").lower()
    known = FigureCanvasBase.get_supported_filetypes()
    if suffix not in known and f".{suffix}" not in others:
        use = ", ".join([*(other[1:] for other in others), "png", "svg"])
        raise UsageError(f"{path}: pictures are not written as {suffix!r}; use {use} or pdf")
    if not 1.0 <= side <= 40.0:
        raise UsageError(f"side={side:g}: must be 1 to 40 inches")
    if not 20 <= dpi <= 1200:
        raise UsageError(f"dpi={dpi:g}: must be 20 to 1200 dots per inch")


def _canvas(
    draw: Callable[[Any], None],
    beside: Callable[[Any], None] | None,
    side: float,
    dpi: float,
) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = 1 if beside is None else 2
    figure = Figure(figsize=(columns * side, side), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    if beside is not None:
        beside(figure.add_axes((0.6, 0.15, 0.37, 0.75)))
    axes = figure.add_axes((0.02 / columns, 0.02, 0.96 / columns, 0.9))
    axes.set_axis_off()
    axes.set_aspect("equal")
    draw(axes)
    _unflatten(axes)
    _fit(axes, side * dpi)
    return canvas


def _unflatten(axes: Any) -> None:
    """Give a drawing on a line some height or width, so that title and legend are beside it."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    least = _NARROWEST * max(right - left, high - low)
    if high - low < least:
        axes.set_ylim((low + high - least) / 2.0, (low + high + least) / 2.0)
    if right - left < least:
        axes.set_xlim((left + right - least) / 2.0, (left + right + least) / 2.0)


def _fit(axes: Any, pixels: float) -> None:
    """Make room for the title and what is below: smaller letters if it is wide, smaller axes."""
    wide = axes.title.get_window_extent().width / (_INSIDE * pixels)
    if wide > 1.0:
        axes.title.set_fontsize(axes.title.get_fontsize() / wide)
    axes.apply_aspect()
    needed = axes.get_tightbbox()
    height = axes.figure.bbox.height
    above = max(0.0, needed.y1 / height - _INSIDE)
    below = max(0.0, 1.0 - _INSIDE - needed.y0 / height)
    if above or below:
        left, low, width, tall = axes.get_position(original=True).bounds
        axes.set_position((left, low + below, width, tall - above - below))
