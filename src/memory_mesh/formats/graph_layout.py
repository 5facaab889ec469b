"""Where the boxes and lines of a picture go: no box touches another, no line crosses a box.

Lines run in the gaps between the columns, and between the boxes of a column that they pass.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.formats.picture import Edge, Picture

# Which way each memory of a picture hangs on the asked one, on which side, in which order.
#
# A picture is laid out as a mind map: the asked memory in the middle, what is one link away in the
# columns beside it, what is two links away in the next ones. Every decision is a function of the
# picture alone, so that the same memories are always drawn the same way.


_ROUNDS = 12  # in which the order is improved; later ones change next to nothing
_CROSSING = 2.0  # what a line to the other side costs, in boxes by which the sides differ


@dataclass(frozen=True, slots=True)
class Tree:
    """Where each node stands: its parent, its children from top to bottom, its column."""

    parents: tuple[int, ...]  # the first node is its own
    children: Mapping[int, Sequence[int]]
    columns: tuple[int, ...]  # negative on the left, 0 for the asked memory
    trunk: frozenset[int]  # the edges, by place, that lead from a node to its parent


def tree_of(picture: Picture) -> Tree:
    """Returns the tree of the closest links, on two sides that are about as high."""
    count = len(picture.nodes)
    near = _neighbours(count, picture.edges)
    parents, hops, trunk = _parents(count, picture.edges, near)
    children: dict[int, list[int]] = {place: [] for place in range(count)}
    for place in range(1, count):
        children[parents[place]].append(place)
    sides = _sides(children, picture.edges)
    columns = tuple(hops[place] * sides[place] for place in range(count))
    ordered = _ordered(children, columns, [(each.source, each.target) for each in picture.edges])
    return Tree(tuple(parents), ordered, columns, trunk)


def below(children: Mapping[int, Sequence[int]], top: int) -> list[int]:
    """Returns a node and all that hangs on it."""
    found = [top]
    for place in found:
        found += children[place]
    return found


def _neighbours(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Returns the edges of each node, by place."""
    near: list[list[int]] = [[] for _ in range(count)]
    for number, edge in enumerate(edges):
        near[edge.source].append(number)
        near[edge.target].append(number)
    return near


def _parents(
    count: int, edges: Sequence[Edge], near: Sequence[Sequence[int]]
) -> tuple[list[int], list[int], frozenset[int]]:
    """Returns parents, distances from the asked memory, and the edges that lead to a parent."""
    hops = _hops(count, edges, near)
    parents, trunk = [0] * count, set[int]()
    for place in range(1, count):
        ways = [
            (-edges[number].weight, _other(edges[number], place), number)
            for number in near[place]
            if hops[_other(edges[number], place)] == hops[place] - 1
        ]
        if ways:
            _, parents[place], number = min(ways)
            trunk.add(number)
    return parents, hops, frozenset(trunk)


def _hops(count: int, edges: Sequence[Edge], near: Sequence[Sequence[int]]) -> list[int]:
    """Returns how many links each node is away; one that no link reaches counts as one away."""
    hops = {0: 0}
    queue = [0]
    for place in queue:
        for number in near[place]:
            other = _other(edges[number], place)
            if other not in hops:
                hops[other] = hops[place] + 1
                queue.append(other)
    return [hops.get(place, 1) for place in range(count)]


def _other(edge: Edge, place: int) -> int:
    return edge.target if edge.source == place else edge.source


def _sides(children: Mapping[int, Sequence[int]], edges: Sequence[Edge]) -> list[int]:
    """Returns -1 or 1 for each node: what is linked with each other goes to the same side."""
    branches = {top: below(children, top) for top in children[0]}
    branch_of = {place: top for top, places in branches.items() for place in places}
    sizes = {top: len(places) for top, places in branches.items()}
    ties: dict[int, dict[int, int]] = {top: {} for top in branches}
    for edge in edges:
        one, two = branch_of.get(edge.source), branch_of.get(edge.target)
        if one is not None and two is not None and one != two:
            ties[one][two] = ties[one].get(two, 0) + 1
            ties[two][one] = ties[two].get(one, 0) + 1
    chosen = _balanced(sizes, ties)
    return [chosen[branch_of[place]] if place else 0 for place in range(len(children))]


def _balanced(sizes: Mapping[int, int], ties: Mapping[int, Mapping[int, int]]) -> dict[int, int]:
    """Returns the side of each branch; branches move while that makes the picture better."""
    side: dict[int, int] = {}
    tilt = 0
    for top in sorted(sizes, key=lambda top: (-sizes[top], top)):
        side[top] = 1 if tilt <= 0 else -1
        tilt += side[top] * sizes[top]
    for _ in range(_ROUNDS):
        moved = False
        for top in sizes:
            drawn = sum(count * side[other] for other, count in ties[top].items()) * side[top]
            after = tilt - 2 * side[top] * sizes[top]
            if _CROSSING * drawn + abs(after) < abs(tilt):
                side[top], tilt, moved = -side[top], after, True
        if not moved:
            break
    return side


def _ordered(
    children: Mapping[int, Sequence[int]], columns: Sequence[int], ties: Sequence[tuple[int, int]]
) -> dict[int, list[int]]:
    """Returns the children in an order in which lines between branches are short."""
    order = {place: list(own) for place, own in children.items()}
    best, shortest = order, _length(_heights(order, columns), columns, ties)
    for _ in range(_ROUNDS):
        heights = _heights(order, columns)
        pull = _pull(heights, columns, ties)
        order = {
            place: sorted(own, key=lambda top: (_mean(below(order, top), pull), heights[top]))
            for place, own in order.items()
        }
        length = _length(_heights(order, columns), columns, ties)
        if length < shortest:
            best, shortest = order, length
    return best


def _heights(order: Mapping[int, Sequence[int]], columns: Sequence[int]) -> list[float]:
    """Returns about how far down each node stands: leaves one below the other on each side."""
    heights = [0.0] * len(columns)
    used = {-1: 0, 1: 0}

    def settle(place: int) -> float:
        if own := order[place]:
            heights[place] = sum(map(settle, own)) / len(own)
        else:
            side = 1 if columns[place] > 0 else -1
            heights[place] = used[side]
            used[side] += 1
        return heights[place]

    settle(0)
    return heights


def _pull(
    heights: Sequence[float], columns: Sequence[int], ties: Sequence[tuple[int, int]]
) -> list[list[float]]:
    """Returns the heights to which each node is drawn by its lines."""
    pull: list[list[float]] = [[] for _ in heights]
    for one, two in ties:
        if columns[one] * columns[two] != 0:
            pull[one].append(heights[two])
            pull[two].append(heights[one])
    return pull


def _mean(places: Sequence[int], pull: Sequence[Sequence[float]]) -> float:
    pulled = [height for place in places for height in pull[place]]
    return sum(pulled) / len(pulled) if pulled else 0.0


def _length(
    heights: Sequence[float], columns: Sequence[int], ties: Sequence[tuple[int, int]]
) -> float:
    return sum(
        abs(heights[one] - heights[two]) for one, two in ties if columns[one] * columns[two] != 0
    )


Point: TypeAlias = "tuple[float, float]"
_PORT = 7.0  # between two lines that end at the same side of a box
_CLEAR = 4.0  # between a line and the boxes that it passes


@dataclass(frozen=True, slots=True)
class PictureSizes:
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


def laid_out(picture: Picture, sizes: PictureSizes) -> Layout:
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


def _tops(tree: Tree, sizes: PictureSizes) -> list[float]:
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

    def __init__(self, tree: Tree, sizes: PictureSizes, tops: list[float]) -> None:
        self._tree, self._sizes, self._tops = tree, sizes, tops
        self._free: dict[int, float] = {}  # the first free height of each column

    def place(self, node: int) -> None:
        """Finds the place of a node, below all that is in its column."""
        own = self._tree.children[node]
        for child in own:
            self.place(child)
        wanted = top = self._free.get(self._tree.columns[node], 0.0)
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

    def __init__(self, boxes: Sequence[Box], tree: Tree, sizes: PictureSizes) -> None:
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
