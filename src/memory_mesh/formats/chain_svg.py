"""What superseded what, as an SVG picture: one row for each memory, the oldest first.

Rails on the left lead from each memory down to the one that took its place, as in a history of
commits.
"""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats import svg
from memory_mesh.formats.graph_layout import Box, Point
from memory_mesh.formats.picture import NEWER_THAN, SUPERSEDES, Edge, Look, Node, Picture, picture
from memory_mesh.model.graph import Neighbourhood

_TYPE = svg.Type(13, 10, 2)
_WIDTH, _SPACE, _RAIL, _DOT = 600.0, 16.0, 20.0, 5.0
_HEAD, _CLAIM = 44.0, 18.0
_SAID = {SUPERSEDES: "superseded by", NEWER_THAN: "perhaps updated by"}  # from the older one
_LOOKS = {_SAID[SUPERSEDES]: Look("#c2410c"), _SAID[NEWER_THAN]: Look("#0e7490", "5 4")}


@dataclass(frozen=True, slots=True)
class Step:
    """A line from a node down to one that took its place, and the rail on which it runs."""

    node: int
    to: int
    type: str
    rail: int


def chain_svg(chain: Neighbourhood) -> str:
    """Returns the picture of a chain; the same chain gives the same text."""
    shown = picture(chain)
    order = oldest_first(shown)
    rails, steps = on_rails(shown, order)
    left = _x(max([*rails.values(), *(step.rail for step in steps)])) + _RAIL
    boxes = dict(zip(order, _boxes([shown.nodes[node] for node in order], left), strict=True))
    title = _title(shown)
    looks = {name: look for name, look in _LOOKS.items() if name in {step.type for step in steps}}
    wide, top = left + _WIDTH + svg.MARGIN, boxes[order[-1]].y + _TYPE.height + svg.MARGIN
    counts = {name: sum(step.type == name for step in steps) for name in looks}
    below, high = svg.legend((svg.MARGIN, top), wide - svg.MARGIN, counts, looks)
    parts = [
        svg.text((svg.MARGIN, svg.MARGIN + 14), title, 15, more=' font-weight="bold"'),
        *_lines(rails, steps, boxes, [*looks]),
        *(_row(shown.nodes[node], box) for node, box in boxes.items()),
        *below,
    ]
    return svg.document((wide, top + high), title, parts, looks)


def oldest_first(shown: Picture) -> list[int]:
    """Returns the nodes by time, but none before one that it replaced."""
    waiting = sorted(range(len(shown.nodes)), key=lambda node: (shown.nodes[node].at, node))
    ordered: list[int] = []
    while waiting:
        held = {edge.source for edge in shown.edges if edge.target in waiting}
        # in a circle, which nobody can make by superseding, the oldest goes first
        node = next((node for node in waiting if node not in held), waiting[0])
        waiting.remove(node)
        ordered.append(node)
    return ordered


def on_rails(shown: Picture, order: Sequence[int]) -> tuple[dict[int, int], list[Step]]:
    """Returns the rail of each node, and lines on rails that do not run into each other."""
    rails: dict[int, int] = {}
    steps: list[Step] = []
    heading: list[int | None] = []  # for each rail, the node that it leads to
    for node in order:
        own = [rail for rail, to in enumerate(heading) if to == node]
        for rail in own:
            heading[rail] = None
        rails[node] = own[0] if own else _free(heading)
        rail = rails[node]
        for edge in sorted(_later(shown, node), key=lambda edge: edge.type != SUPERSEDES):
            if edge.source not in rails:
                heading[rail] = edge.source
            steps.append(Step(node, edge.source, _SAID[edge.type], rail))
            rail = _free(heading)
    return rails, steps


def _later(shown: Picture, node: int) -> list[Edge]:
    return [edge for edge in shown.edges if edge.target == node and edge.type in _SAID]


def _free(heading: list[int | None]) -> int:
    """Returns the first rail that leads nowhere, a new one if all are taken."""
    if None not in heading:
        heading.append(None)
    return heading.index(None)


def _title(shown: Picture) -> str:
    count = len(shown.nodes)
    if count == 1:
        return f"{shown.nodes[0].id} superseded nothing and was not superseded"
    cut = f", {shown.more} more not drawn" if shown.more else ""
    return f"What superseded what around {shown.nodes[0].id}: {count} memories{cut}"


def _boxes(nodes: Sequence[Node], left: float) -> list[Box]:
    """Returns the boxes; one with a claim has its line above it."""
    boxes: list[Box] = []
    top = svg.MARGIN + _HEAD
    for node in nodes:
        top += _CLAIM if node.claim else 0.0
        boxes.append(Box(left, top, _WIDTH, _TYPE.height))
        top += _TYPE.height + _SPACE
    return boxes


def _row(node: Node, box: Box) -> str:
    drawn = svg.box(node, box, _TYPE, f"{node.kind} · {node.at}")
    if not node.claim:
        return drawn
    above = Box(box.x, box.y - _CLAIM, box.width, _CLAIM)
    return f"{svg.clipped(above, node.claim, 11.5)}\n{drawn}"


def _lines(
    rails: Mapping[int, int], steps: Sequence[Step], boxes: Mapping[int, Box], types: Sequence[str]
) -> list[str]:
    """Returns the lines to what came later, then the dots from which they start."""
    dots = {node: (_x(rails[node]), box.middle) for node, box in boxes.items()}
    parts = [
        svg.line(
            _way(dots[step.node], _x(step.rail), dots[step.to]),
            _LOOKS[step.type],
            types.index(step.type),
            thick=1.8,
            strong=True,
        )
        for step in steps
    ]
    return parts + [svg.tick(dots[node], box.x, _DOT, svg.FAINT) for node, box in boxes.items()]


def _x(rail: int) -> float:
    return svg.MARGIN + _RAIL * (rail + 0.5)


def _way(start: Point, rail: float, end: Point) -> tuple[Point, ...]:
    """Returns a line that turns to its rail, runs down, and turns to its end in the last row."""
    (x, y), (to_x, to_y) = start, end
    turn = _TYPE.height / 2 * (1 if to_y > y else -1)
    first, last = y + turn, to_y - turn
    stop = to_y - math.copysign(_DOT, turn)
    return (
        (x, y), (x, (y + first) / 2), (rail, (y + first) / 2), (rail, first),
        (rail, first), (rail, last), (rail, last),
        (rail, (last + to_y) / 2), (to_x, (last + to_y) / 2), (to_x, stop),
    )  # fmt: skip
