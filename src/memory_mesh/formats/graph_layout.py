"""Where the boxes and lines of a picture go: no box touches another, no line crosses a box.

Lines run in the gaps between the columns, and between the boxes of a column that they pass.
"""

from collections.abc import Sequence

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.formats.graph_tree import Tree, below, tree_of
from memory_mesh.formats.picture import Edge, Picture
from memory_mesh.typed import TypeAlias

Point: TypeAlias = "tuple[float, float]"
_PORT = 7.0  # between two lines that end at the same side of a box
_CLEAR = 4.0  # between a line and the boxes that it passes


@dataclass(frozen=True, slots=True)
class Sizes:
    """The measures of a picture, in pixels."""

    width: float  # of a box
    height: float
    gap: float  # between two columns
    space: float  # between two boxes of a column


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Route:
    """A line: a start, then three points for each cubic curve of it."""

    points: tuple[Point, ...]
    trunk: bool  # on the shortest way from the asked memory

    @property
    def middle(self) -> Point:
        """A point halfway along the line, if it has one curve."""
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = self.points[:4]
        return (ax + 3 * bx + 3 * cx + dx) / 8, (ay + 3 * by + 3 * cy + dy) / 8


@dataclass(frozen=True, slots=True)
class Layout:
    """The boxes of the nodes and the routes of the edges, in the order of the picture."""

    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def laid_out(picture: Picture, sizes: Sizes) -> Layout:
    """Returns where everything is drawn, from the corner (0, 0) on."""
    tree = tree_of(picture)
    tops = _tops(tree, sizes)
    boxes = tuple(
        Box(column * (sizes.width + sizes.gap), top, sizes.width, sizes.height)
        for column, top in zip(tree.columns, tops, strict=True)
    )
    return _at_corner(boxes, _Lines(boxes, tree, sizes).drawn(picture.edges))


def moved(layout: Layout, by: Point) -> Layout:
    """Returns the same layout at another place."""
    dx, dy = by
    return replace(
        layout,
        boxes=tuple(replace(box, x=box.x + dx, y=box.y + dy) for box in layout.boxes),
        routes=tuple(
            replace(route, points=tuple((x + dx, y + dy) for x, y in route.points))
            for route in layout.routes
        ),
    )


def _at_corner(boxes: tuple[Box, ...], routes: tuple[Route, ...]) -> Layout:
    """Returns the layout without empty space around it; a bow is widest in its middle."""
    spots = [route.middle for route in routes] + [
        at for route in routes for at in route.points[::3]
    ]
    spots += [(box.x, box.y) for box in boxes]
    spots += [(box.x + box.width, box.y + box.height) for box in boxes]
    left, top = min(x for x, _ in spots), min(y for _, y in spots)
    right, bottom = max(x for x, _ in spots), max(y for _, y in spots)
    return moved(Layout(boxes, routes, right - left, bottom - top), (-left, -top))


def _tops(tree: Tree, sizes: Sizes) -> list[float]:
    """Returns the upper edge of each box; both sides are centred on the asked memory."""
    tops = [0.0] * len(tree.columns)
    for side in (-1, 1):
        column = _Column(tree, sizes, tops)
        own = [top for top in tree.children[0] if tree.columns[top] * side > 0]
        for top in own:
            column.place(top)
        members = [place for top in own for place in below(tree.children, top)]
        if members:
            highest = min(tops[place] for place in members)
            middle = (highest + max(tops[place] for place in members)) / 2
            for place in members:
                tops[place] -= middle
    return [top - min(tops) for top in tops]


class _Column:
    """Stacks the boxes of one side, each parent beside the middle of its children."""

    def __init__(self, tree: Tree, sizes: Sizes, tops: list[float]) -> None:
        self._tree, self._sizes, self._tops = tree, sizes, tops
        self._free: dict[int, float] = {}  # the first free height of each column

    def place(self, node: int) -> None:
        """Finds the place of a node, below all that is in its column."""
        own = self._tree.children[node]
        for child in own:
            self.place(child)
        column = self._tree.columns[node]
        wanted = top = self._free.get(column, 0.0)
        if own:
            wanted = (self._tops[own[0]] + self._tops[own[-1]]) / 2
            top = max(top, wanted)
            self._lower([place for child in own for place in below(self._tree.children, child)],
                        top - wanted)  # fmt: skip
            self._free[self._tree.columns[own[0]]] += self._sizes.space  # ends the family
        self._tops[node] = top
        self._took(node)

    def _lower(self, places: Sequence[int], by: float) -> None:
        for place in places if by else ():
            self._tops[place] += by
            self._took(place)

    def _took(self, place: int) -> None:
        column, end = self._tree.columns[place], self._tops[place] + self._sizes.height
        self._free[column] = max(self._free.get(column, 0.0), end + self._sizes.space)


class _Lines:
    """Draws the lines between boxes that have their places."""

    def __init__(self, boxes: Sequence[Box], tree: Tree, sizes: Sizes) -> None:
        self._boxes, self._tree, self._sizes = boxes, tree, sizes
        self._lanes = {
            column: _lanes(
                [box for box, of in zip(boxes, tree.columns, strict=True) if of == column]
            )
            for column in set(tree.columns)
        }

    def drawn(self, edges: Sequence[Edge]) -> tuple[Route, ...]:
        """Returns the route of each edge."""
        ends = self._ends(edges)
        return tuple(
            Route(
                self._route(edge, ends[number, edge.source], ends[number, edge.target]),
                number in self._tree.trunk,
            )
            for number, edge in enumerate(edges)
        )

    def _ends(self, edges: Sequence[Edge]) -> dict[tuple[int, int], Point]:
        """Returns where each edge touches its two boxes, spread over their sides."""
        at: dict[tuple[int, bool], list[tuple[float, int]]] = {}
        for number, edge in enumerate(edges):
            for own, other in ((edge.source, edge.target), (edge.target, edge.source)):
                side = (own, self._leaves_right(own, other))
                at.setdefault(side, []).append((self._boxes[other].middle, number))
        ends: dict[tuple[int, int], Point] = {}
        for (place, right), lines in at.items():
            box = self._boxes[place]
            step = min(_PORT, (box.height - 2 * _CLEAR) / len(lines))
            first = box.middle - step * (len(lines) - 1) / 2
            for index, (_, number) in enumerate(sorted(lines)):
                ends[number, place] = (box.x + box.width * right, first + index * step)
        return ends

    def _leaves_right(self, own: int, other: int) -> bool:
        """True if a line leaves a box on its right; within a column it leaves on the outside."""
        columns = self._tree.columns
        if columns[own] == columns[other]:
            return columns[own] > 0
        return columns[own] < columns[other]

    def _route(self, edge: Edge, start: Point, end: Point) -> tuple[Point, ...]:
        first, last = self._tree.columns[edge.source], self._tree.columns[edge.target]
        if first == last:
            return self._arc(start, end, outwards=1 if first > 0 else -1)
        points = [start]
        step = 1 if last > first else -1
        for column in range(first + step, last, step):
            points += self._passed(column, points[-1], end, step)
        points += _bend(points[-1], end)
        return tuple(points)

    def _arc(self, start: Point, end: Point, *, outwards: int) -> tuple[Point, ...]:
        """Returns a bow beside a column; it stays inside the gap."""
        bulge = min(self._sizes.gap * 0.95, 14 + abs(start[1] - end[1]) * 0.22) * outwards
        return (start, (start[0] + bulge, start[1]), (end[0] + bulge, end[1]), end)

    def _passed(self, column: int, start: Point, end: Point, step: int) -> list[Point]:
        """Returns the points that lead past a column, between two of its boxes."""
        x = next(
            box.x for box, of in zip(self._boxes, self._tree.columns, strict=True) if of == column
        )
        near, far = (x, x + self._sizes.width)[::step]
        share = (near - start[0]) / (end[0] - start[0])
        wanted = start[1] + (end[1] - start[1]) * share
        y = min(
            (min(max(wanted, low), high) for low, high in self._lanes[column]),
            key=lambda lane: abs(lane - wanted),
        )
        return [*_bend(start, (near, y)), (near, y), (far, y), (far, y)]


def _lanes(boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Returns the free heights between the boxes of a column, above and below them."""
    lanes: list[tuple[float, float]] = []
    free = float("-inf")
    for box in sorted(boxes, key=lambda box: box.y):
        lanes.append((free, box.y - _CLEAR))
        free = box.y + box.height + _CLEAR
    return [*lanes, (free, float("inf"))]


def _bend(start: Point, end: Point) -> list[Point]:
    """Returns a curve that leaves and arrives level."""
    half = (start[0] + end[0]) / 2
    return [(half, start[1]), (half, end[1]), end]
