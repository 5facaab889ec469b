"""Which way each memory of a picture hangs on the asked one, on which side, in which order.

A picture is laid out as a mind map: the asked memory in the middle, what is one link away in the
columns beside it, what is two links away in the next ones. Every decision is a function of the
picture alone, so that the same memories are always drawn the same way.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats.picture import Edge, Picture

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
