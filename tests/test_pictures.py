"""Pictures and animations: names, legends, scales, sizes, and agents at work."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

import lagco
from lagco.commands.generate import generate_instance
from lagco.core.graph import GraphView
from lagco.core.pictures.drawing import draw_colour_bar, layout
from lagco.core.pictures.files import _canvas, rgb_array, save_animation, save_picture
from lagco.errors import UsageError
from lagco.instances import read
from lagco.instances.formats.solutions import named_solution, solution_text
from lagco.policies import RandomPolicy
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.rollout import Episode
from tests.shared_instances import DATA, FILES


def played(problem, instance=None, steps=4):
    cls = problem_class(problem)
    if instance is None:
        scale = ("sweeps",) if cls.scaled_by_sweeps else ()
        instance = generate_instance(problem, size=12, seed=3, references=scale, sweeps=5)
    env = cls(instance)
    Episode(env, 1).run(RandomPolicy(), steps)
    return env


def drawn(env, side=4.0):
    """The axes of a picture, finished."""
    canvas = _canvas(env.draw_on, None, side, 100)
    canvas.draw()
    return canvas.figure.axes[0]


def texts(axes):
    return [text for text in axes.figure.findobj(Text) if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("problem", ENTRIES)
@pytest.mark.parametrize("side", [2.5, 4.0])
def test_title_and_legend_of_a_picture_are_inside_it(problem, side):
    axes = drawn(played(problem), side)
    whole = axes.figure.bbox
    shown = [axes.title, *(axes.get_legend().get_texts() if axes.get_legend() else [])]
    assert axes.title.get_text()
    for text in shown:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= whole.x1 + 1, text.get_text()
        assert box.y0 >= -1 and box.y1 <= whole.y1 + 1, text.get_text()
    assert axes.get_legend() or axes.child_axes, "colours mean something: say what"


@pytest.mark.filterwarnings("error:Glyph")
def test_names_whose_signs_no_font_has_are_drawn_without_a_warning(tmp_path):
    save_picture(lambda axes: axes.set_title("\u6771\u4eac"), tmp_path / "a.png")
    assert rgb_array(lambda axes: axes.set_title("\u6771\u4eac")).min() < 255


@pytest.mark.parametrize("axis", [0, 1])
def test_title_and_legend_are_beside_cities_on_a_line(axis):
    cities = np.zeros((5, 2))
    cities[:, axis] = np.arange(5.0)
    axes = drawn(played("tsp", lagco.instances.Instance("tsp", "line", 5, {"coordinates": cities})))
    line = axes.lines[0].get_window_extent()
    assert axes.title.get_window_extent().y0 > line.y1
    assert axes.get_legend().get_window_extent().y1 < line.y0


def test_a_colour_bar_has_some_length_beside_a_long_title_on_a_small_picture():
    def draw(axes):
        draw_colour_bar(axes, axes.scatter([0, 1], [0, 1], c=[0.0, 2.0]), "a title" * 9)

    canvas = _canvas(draw, None, 1.0, 100)
    canvas.draw()
    (bar,) = canvas.figure.axes[0].child_axes
    assert bar.get_position().width > 0.1


@pytest.mark.parametrize("problem", FILES)
def test_pictures_and_json_use_the_names_of_the_file(problem):
    instance = read(DATA / FILES[problem], problem=problem)
    env = played(problem, instance, steps=None)
    solution = env.solution()
    named = named_solution(instance, solution)
    text = solution_text(instance, solution)
    if isinstance(named[0], dict):
        rows = [",".join(map(str, row.values())) for row in named]
    elif isinstance(named[0], list):
        rows = [",".join(row) for row in named]
    else:
        rows = list(map(str, named))
    lines = [line.replace('"', "") for line in text.splitlines()]
    assert [line for line in lines if line in rows] == rows  # the file says the same, in order
    if problem in ("ospf", "traffic", "placement", "cyber-path"):
        names = instance.arrays["pm_names" if problem == "placement" else "names"]
        written = {t.get_text() for t in texts(drawn(env))}
        seen = env.host_of if problem == "cyber-path" else np.arange(len(names))
        assert {str(name)[:15] for name in names[seen]} <= {w[:15] for w in written}


@pytest.mark.parametrize("problem", ["min-vertex", "max-cut"])
def test_nodes_without_names_are_numbered_from_one_as_in_solution_files(problem):
    written = {t.get_text() for t in texts(drawn(played(problem)))}
    assert {str(number) for number in range(1, 13)} <= written
    assert "0" not in written


def test_a_link_that_is_hardly_used_is_not_dark():
    env = played("ospf")
    axes = drawn(env)
    (links,) = [c for c in axes.collections if hasattr(c, "get_segments")]
    use = np.sort((env._routes.loads / env._network.capacities).reshape(-1, 2).max(axis=1))
    green = links.get_colors()[:, 1]
    assert (green[use < 0.15] > 0.75).all()  # yellow
    assert "utilisation" in {t.get_text() for t in texts(axes)}


def test_weights_are_announced_only_where_they_are_shown():
    small, large = played("ospf"), problem_class("ospf")(size=60)
    large.reset(seed=0)
    assert "weights" in drawn(small).get_title()
    assert "weights" not in drawn(large).get_title()


def test_nodes_without_edges_do_not_squash_a_drawing():
    edges = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
    for extra in (1, 12):
        points = layout(GraphView(5 + extra, edges))
        ring, whole = np.ptp(points[:5], axis=0).max(), np.ptp(points, axis=0).max()
        assert ring > 0.4 * whole
        assert len(np.unique(points.round(6), axis=0)) == 5 + extra


def test_the_cut_of_90_nodes_has_a_row_for_every_node():
    env = problem_class("max-cut")(size=90)
    Episode(env, 1).run(RandomPolicy(), 60)
    labels = [t for t in texts(drawn(env)) if t.get_text().isdigit()]
    assert len(labels) == 90
    for column in ("left", "right"):
        boxes = [t.get_window_extent() for t in labels if t.get_ha() == column]
        heights = np.sort([(b.y0 + b.y1) / 2 for b in boxes])
        assert np.diff(heights).min() > 4.0  # pixels


@pytest.mark.parametrize(
    ("suffix", "begin"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_pictures_have_the_format_and_size_asked_for(suffix, begin, tmp_path):
    path = tmp_path / f"x.{suffix}"
    save_picture(lambda axes: axes.plot([0, 1]), path, side=3, dpi=50)
    assert path.read_bytes().startswith(begin)
    if suffix == "png":
        assert Image.open(path).size == (150, 150)


def test_pictures_of_no_size_are_refused(tmp_path):
    with pytest.raises(UsageError, match="side=0: must be 1 to 40 inches"):
        save_picture(print, tmp_path / "x.png", side=0)
    with pytest.raises(UsageError, match="dpi=1e"):
        save_picture(print, tmp_path / "x.png", dpi=1e9)
    with pytest.raises(UsageError, match="pictures are not written as"):
        save_picture(print, tmp_path / "x.doc")


def test_an_animation_runs_to_the_best_state(tmp_path):
    found = lagco.render(
        "max-cut", tmp_path / "x.gif", agent="greedy", size=10, frames=5, side=2, dpi=50
    )
    with Image.open(tmp_path / "x.gif") as image:
        assert image.n_frames == found["frames"] <= 5
        assert image.size == (100, 100)
        assert image.info["loop"] == 0
    best = lagco.evaluate("greedy", [generate_instance("max-cut", size=10)], episodes=1)
    assert found["objective"] == best.results[0].episodes[0].objective_best


def test_an_animation_begins_with_its_last_frame_which_stands_longer(tmp_path):
    shades = [np.full((8, 8, 3), shade, dtype=np.uint8) for shade in (0, 100, 200)]
    save_animation(shades, tmp_path / "x.gif", fps=10)
    seen = []
    with Image.open(tmp_path / "x.gif") as image:
        for place in range(image.n_frames):
            image.seek(place)
            seen.append((image.convert("RGB").getpixel((0, 0))[0], image.info["duration"]))
    assert [shade for shade, _ in seen] == [200, 0, 100]
    assert seen[0][1] > seen[1][1] == seen[2][1] == 100


def test_backgrounds_of_animations_stay_as_they_are(tmp_path):
    frame = np.full((60, 60, 3), 255, dtype=np.uint8)
    rng = np.random.default_rng(2)  # shades between white and others, more than fit
    of_white = rng.random((2000, 1))
    others = np.array([[200, 30, 30], [30, 60, 200], [240, 243, 246], [0, 0, 0], [30, 150, 80]])
    shades = 255 * of_white + (1 - of_white) * others[rng.integers(0, 5, 2000)]
    frame.reshape(-1, 3)[:2000] = np.round(shades)
    save_animation([frame, frame], tmp_path / "x.gif")
    with Image.open(tmp_path / "x.gif") as image:
        assert image.convert("RGB").getpixel((0, 55)) == (255, 255, 255)


def test_a_picture_is_of_the_best_state(tmp_path):
    found = lagco.render("tsp", tmp_path / "x.svg", agent="greedy", data=DATA / "towns.tsp")
    assert found["frames"] == 1
    assert found["instance"] == "towns"
    assert (tmp_path / "x.svg").read_bytes().startswith(b"<?xml")


def test_the_default_agent_is_drawn_at_work(tmp_path):
    found = lagco.render("max-cut", tmp_path / "x.png", size=10, side=2)
    assert found["policy"] == "taught-projection"


def test_what_cannot_be_drawn_is_refused(tmp_path):
    from tests.mistaken import Undrawn

    with pytest.raises(UsageError, match=r"Undrawn has no viewer; define draw_on\(axes\)"):
        lagco.render(Undrawn, tmp_path / "x.gif", agent="greedy")
    with pytest.raises(UsageError, match="not written as 'mp4'; use gif, webp, png, svg or pdf"):
        lagco.render("tsp", tmp_path / "x.mp4")
    with pytest.raises(UsageError, match="frames=1"):
        lagco.render("tsp", tmp_path / "x.gif", frames=1)
    with pytest.raises(UsageError, match="the instance comes from data="):
        lagco.render("tsp", tmp_path / "x.gif", data=DATA / "towns.tsp", size=8)


def test_a_problem_of_ones_own_is_drawn_where_it_draws(tmp_path):
    from examples.depots import Depots

    class Drawn(Depots):
        def draw_on(self, axes):
            axes.scatter(*self.instance.array("coordinates").T)

    found = lagco.render(Drawn, tmp_path / "x.gif", agent="greedy", size=16, side=2, dpi=40)
    assert found["frames"] == 3  # two depots


def test_an_action_space_is_drawn_of_an_agent_and_explains_its_colours(tmp_path, monkeypatch):
    import lagco.commands.pretrain as module

    seen = []
    monkeypatch.setattr(module, "in_two_dimensions", lambda vectors, seed: vectors[:, :2])
    monkeypatch.setattr(module, "pretrain", lambda *a, **k: pytest.fail("trains an encoder"))
    kept = module.save_picture
    monkeypatch.setattr(
        module, "save_picture", lambda draw, *a, **k: (seen.append(draw), kept(draw, *a, **k))
    )
    data = [generate_instance("max-cut", size=10)]
    plot = tmp_path / "x.png"
    found = lagco.embed("max-cut", data, agent="default", plot=plot, side=2, dpi=50)
    assert found["actions"] == 10
    assert Image.open(plot).size == (100, 100)
    for side in (2.5, 4.0):
        canvas = _canvas(seen[0], None, side, 100)
        canvas.draw()
        written = {t.get_text(): t for t in texts(canvas.figure.axes[0])}
        assert written["distance to the mean action"].get_window_extent().x0 >= 0
    with pytest.raises(UsageError, match="not both"):
        lagco.embed("max-cut", data, "folder", agent="default")
