"""Where the boxes and lines of a picture go."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats.graph_layout import (
    Box,
    Layout,
    PictureSizes,
    Point,
    Route,
    laid_out,
    tree_of,
)
from memory_mesh.formats.picture import Picture, picture
from memory_mesh.model import Link
from memory_mesh.model.graph import Neighbourhood
from tests.unit.formats import pictures

SIZES = PictureSizes(196, 50, 92, 11)
SAMPLES = 24  # points at which a curve is looked at


@st.composite
def neighbourhoods(draw: st.DrawFn) -> Neighbourhood:
    """Any memories with any links, also to themselves and to memories that are not there."""
    count = draw(st.integers(1, 40))
    found = [pictures.memory(number, f"text {number}") for number in range(count)]
    ids = st.sampled_from([*(each.id for each in found), "mem_unknown"])
    types = st.sampled_from(["similar", "related", "part_of", "own", "x", "y", "z", "v"])
    links = draw(
        st.lists(st.builds(Link, ids, ids, types, st.none() | st.floats(0, 1)), max_size=120)
    )
    return Neighbourhood(found[0].id, tuple(found), tuple(links))


@given(neighbourhoods())
def test_no_boxes_touch_and_no_line_crosses_a_box(around):
    shown = picture(around)
    layout = laid_out(shown, SIZES)
    _check(shown, layout)


@pytest.mark.parametrize("count", [1, 2, 5, 14, 60, 200])
def test_examples_of_every_size_are_laid_out_without_overlaps(count):
    shown = picture(pictures.example(count))
    layout = laid_out(shown, SIZES)
    _check(shown, layout)
    assert layout == laid_out(picture(pictures.example(count)), SIZES)


def test_sixty_memories_fit_on_a_page():
    layout = laid_out(picture(pictures.example(60)), SIZES)
    assert layout.width < 1_600
    assert layout.height < 2_200


def test_columns_are_the_distances_from_the_asked_memory():
    found = [pictures.memory(number, "text") for number in range(4)]
    links = [Link(one.id, two.id, "related") for one, two in pairwise(found)]
    tree = tree_of(picture(Neighbourhood(found[1].id, tuple(found), tuple(links))))
    assert sorted(map(abs, tree.columns)) == [0, 1, 1, 2]
    assert min(tree.columns) < 0 < max(tree.columns)


def test_a_memory_hangs_on_its_closest_link():
    found = [pictures.memory(number, "text") for number in range(4)]
    ids = [each.id for each in found]
    links = (
        Link(ids[0], ids[1], "similar", 0.9),
        Link(ids[0], ids[2], "similar", 0.6),
        Link(ids[3], ids[1], "similar", 0.7),
        Link(ids[3], ids[2], "part_of"),
    )
    tree = tree_of(picture(Neighbourhood(ids[0], tuple(found), links)))
    assert tree.parents[3] == 2
    assert tree.trunk == {0, 1, 3}


def test_linked_branches_stand_on_the_same_side():
    found = [pictures.memory(number, "text") for number in range(7)]
    ids = [each.id for each in found]
    links = [Link(ids[0], id_, "related") for id_ in ids[1:]]
    groups = (ids[1::2], ids[2::2])
    links += [Link(one, two, "similar", 0.6) for own in groups for one, two in combinations(own, 2)]
    tree = tree_of(picture(Neighbourhood(ids[0], tuple(found), tuple(links))))
    assert len({tree.columns[place] for place in (1, 3, 5)}) == 1
    assert len({tree.columns[place] for place in (2, 4, 6)}) == 1


def _check(shown: Picture, layout: Layout) -> None:
    for one, two in combinations(layout.boxes, 2):
        assert _apart(one, two)
    assert len(layout.routes) == len(shown.edges)
    for edge, route in zip(shown.edges, layout.routes, strict=True):
        points = _points(route)
        assert _at_border(points[0], layout.boxes[edge.source])
        assert _at_border(points[-1], layout.boxes[edge.target])
        for x, y in points:
            assert -0.01 <= x <= layout.width + 0.01
            assert not any(_inside((x, y), box) for box in layout.boxes)


def _apart(one: Box, two: Box) -> bool:
    beside = abs(one.x - two.x) >= one.width + 1
    return beside or abs(one.y - two.y) >= one.height + 1


def _inside(point: Point, box: Box) -> bool:
    x, y = point
    return box.x + 0.01 < x < box.x + box.width - 0.01 and box.y < y < box.y + box.height


def _at_border(point: Point, box: Box) -> bool:
    x, y = point
    return min(abs(x - box.x), abs(x - box.x - box.width)) < 0.01 and box.y < y < box.y + box.height


def _points(route: Route) -> list[Point]:
    """Points along the curves of a line."""
    found: list[Point] = []
    for first in range(0, len(route.points) - 1, 3):
        a, b, c, d = route.points[first : first + 4]
        for step in range(SAMPLES + 1):
            t = step / SAMPLES
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True))
                    for axis in (0, 1))  # fmt: skip
            found.append((x, y))
    return found
