"""Writes the parts of an SVG picture: numbers, texts and boxes that no content can break."""

import math
import unicodedata
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import dataclass
from memory_mesh.formats.graph_layout import (
    Box,
    Layout,
    PictureSizes,
    Point,
    Route,
    laid_out,
    moved,
)
from memory_mesh.formats.picture import NEWER_THAN, SUPERSEDES, Edge, Look, Node, Picture, picture
from memory_mesh.model.graph import Neighbourhood
from memory_mesh.model.memory import Status

_WIDTHS = (
    dict.fromkeys("ijl'|", 0.3)
    | dict.fromkeys(" .,ft!r", 0.43)
    | dict.fromkeys('I:;()[]/\\-"', 0.47)
    | dict.fromkeys("scvxyzkJ?*_", 0.6)
    | dict.fromkeys("BCEFKLPRSTXYZA", 0.7)
    | dict.fromkeys("w+<>=~^#&", 0.85)
    | dict.fromkeys("mMW@%", 1.08)
    | {" ": 0.36}
)
_SMALL, _CAPITAL, _ANY, _SQUARE = 0.64, 0.8, 0.76, 1.1

INK, FAINT, PAPER = "#1e293b", "#64748b", "#ffffff"
MARGIN = 24.0
PADDING = 9.0  # between the border of a box and its words
_FONT = "Verdana, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_BOLD = 1.12  # how much wider bold letters are
_SAMPLE = 34.0  # the length of a line in the legend
_ROW = 20.0  # the height of a line of text below the picture


@dataclass(frozen=True, slots=True)
class Paint:
    """The colours of a box."""

    fill: str
    border: str
    words: str = INK
    dash: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """The sizes of a box's text, in pixels, and how many lines of words it shows."""

    size: float
    note: float
    lines: int

    @property
    def height(self) -> float:
        """The height of a box with such a text."""
        return self.lines * self.size * 1.3 + self.note * 1.3 + 2 * PADDING - 2


_PAINTS = {
    Status.ACTIVE: Paint(PAPER, "#64748b"),
    Status.SUPERSEDED: Paint("#f1f5f9", "#c2410c", "#64748b", "5 3"),
    Status.QUARANTINED: Paint("#fffbeb", "#d97706", "#78350f", "3 3"),
    Status.DISPUTED: Paint("#fef2f2", "#dc2626", "#7f1d1d", "3 3"),
}
_HIDDEN = Paint("#f1f5f9", "#94a3b8", "#64748b", "2 3")  # archived, deleted, expired
_ASKED_FILL, _ASKED_BORDER, _ASKED_THICK, _THIN = "#fef3c7", "#92400e", 3.0, 1.2


def document(size: Point, title: str, parts: Sequence[str], looks: Mapping[str, Look]) -> str:
    """Returns the whole file: the parts on white paper."""
    wide, high = map(number, size)
    parts = [
        "<defs>",
        *(_arrow(place, look) for place, look in enumerate(looks.values())),
        "</defs>",
        f'<rect width="{wide}" height="{high}" fill="{PAPER}"/>',
        *parts,
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" font-family="{_FONT}">\n'
        f"<title>{escaped(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def escaped(text: str) -> str:
    """Returns a text without control characters for use between tags and in attributes."""
    return text.translate(_ESCAPES)


def number(value: float) -> str:
    """Returns a number with at most one decimal."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


def text(at: Point, words: str, size: float, *, fill: str = INK, more: str = "") -> str:
    """Returns one line of text that starts at a point of its baseline."""
    x, y = map(number, at)
    look = f'font-size="{number(size)}" fill="{fill}"{more}'
    return f'<text x="{x}" y="{y}" {look}>{escaped(words)}</text>'


def rectangle(place: Box, fill: str, more: str = "") -> str:
    """Returns a rectangle without words."""
    x, y, wide, high = map(number, (place.x, place.y, place.width, place.height))
    return f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}"{more}/>'


def drawn_box(node: Node, place: Box, type_: Type, note: str) -> str:
    """Returns a memory: a rectangle that cuts off what does not fit, its words and a note."""
    paint = _PAINTS.get(node.status, _HIDDEN)
    fill, thick = (_ASKED_FILL, _ASKED_THICK) if node.asked else (paint.fill, _THIN)
    border = _ASKED_BORDER if node.asked and node.status is Status.ACTIVE else paint.border
    x, y, wide, high = map(number, (place.x, place.y, place.width, place.height))
    inner = (place.width - 2 * PADDING) / type_.size
    rows = wrapped(node.words, inner, type_.lines)
    step = type_.size * 1.3
    lines = [
        text((PADDING, PADDING + type_.size + step * index - 1), row, type_.size, fill=paint.words)
        for index, row in enumerate(rows)
    ]
    return "\n".join(
        [
            f'<g><title>{escaped(f"{node.id}: {node.words}")}</title>',
            rectangle(place, fill, _border(border, thick) + _dashed(paint.dash)),
            f'<svg x="{x}" y="{y}" width="{wide}" height="{high}">',
            *lines,
            text((PADDING, place.height - PADDING + 1), note + _status(node), type_.note,
                 fill=border),
            "</svg></g>",
        ]
    )  # fmt: skip


def clipped(place: Box, words: str, size: float) -> str:
    """Returns a line of bold text that is cut off where its place ends."""
    x, y, wide, high = map(number, (place.x, place.y, place.width, place.height))
    shown = wrapped(words, (place.width - 2 * PADDING) / (size * _BOLD), 1)[0]
    inner = text((2, place.height - 5), shown, size, more=' font-weight="bold"')
    return f'<svg x="{x}" y="{y}" width="{wide}" height="{high}">{inner}</svg>'


def tick(at: Point, to: float, radius: float, color: str) -> str:
    """Returns a dot, and a thin line from it to the right."""
    x, y = map(number, at)
    return (
        f'<path d="M{x} {y} L{number(to)} {y}" stroke="{color}" stroke-width="0.8" opacity="0.5"/>'
        f'<circle cx="{x}" cy="{y}" r="{number(radius)}" fill="{PAPER}" stroke="{color}" '
        f'stroke-width="2"/>'
    )


def line(points: Sequence[Point], look: Look, arrow: int, *, thick: float, strong: bool) -> str:
    """Returns a curved line of a type, with the arrow of that number if it has one."""
    start, *rest = [f"{number(x)} {number(y)}" for x, y in points]
    mark = f' marker-end="url(#arrow{arrow})"' if look.arrow else ""
    return (
        f'<path d="M{start} C{" ".join(rest)}" fill="none" stroke="{look.color}" '
        f'stroke-width="{number(thick)}" opacity="{1 if strong else 0.45}"'
        f"{_dashed(look.dash)}{mark}/>"
    )


def legend(
    at: Point, widest: float, counts: Mapping[str, int], looks: Mapping[str, Look]
) -> tuple[list[str], float]:
    """Returns a sample of each type of line with its name and count, and the height they take."""
    parts: list[str] = []
    x, y = at
    for place, (name, look) in enumerate(looks.items()):
        words = f"{name} ({counts.get(name, 0)})"
        wide = _SAMPLE + 8 + width(words) * 11 + 22
        if x > at[0] and x + wide > widest:
            x, y = at[0], y + _ROW
        sample = ((x, y - 4), (x, y - 4), (x + _SAMPLE, y - 4), (x + _SAMPLE, y - 4))
        parts.append(line(sample, look, place, thick=1.8, strong=True))
        parts.append(text((x + _SAMPLE + 8, y), words, 11, fill=FAINT))
        x += wide
    return parts, y - at[1] + _ROW


def _border(color: str, thick: float) -> str:
    return f' rx="6" stroke="{color}" stroke-width="{thick}"'


def _status(node: Node) -> str:
    return "" if node.status is Status.ACTIVE else f" · {node.status.value}"


def _arrow(place: int, look: Look) -> str:
    return (
        f'<marker id="arrow{place}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        f'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0.5 L8 4 L0 7.5 z" fill="{look.color}"/></marker>'
    )


def _dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


# How wide a text is drawn at most, without a font at hand.
#
# The widths are those of DejaVu Sans and Verdana, the widest of the usual fonts. They are in em,
# the
# size of the font.


def width(text: str) -> float:
    """Returns the width of a text in em."""
    return sum(map(_of, text))


def wrapped(text: str, widest: float, lines: int) -> list[str]:
    """Returns the first words of a text in at most so many lines, the last one cut with a mark."""
    rows: list[str] = []
    rest = text
    while rest and len(rows) < lines:
        row, rest = _row(rest, widest)
        rows.append(row)
    if rest:
        rows[-1] = _marked(rows[-1], widest)
    return rows


def _row(text: str, widest: float) -> tuple[str, str]:
    """Splits what fits off a text, after a word where one ends in the second half."""
    fits = _fitting(text, widest)
    if fits == len(text):
        return text, ""
    space = text.rfind(" ", 0, fits + 1)
    if space * 2 >= fits:
        return text[:space], text[space + 1 :]
    return text[:fits], text[fits:].lstrip()


def _marked(row: str, widest: float) -> str:
    """Returns the row with a mark that says that it goes on."""
    fits = _fitting(row, widest - _SQUARE)
    space = row.rfind(" ", 0, fits + 1)
    end = space if fits < len(row) and space * 2 >= fits else fits
    return row[:end].rstrip(" ,;:.-") + "…"


def _fitting(text: str, widest: float) -> int:
    """Returns how many characters fit, at least one."""
    used = 0.0
    for place, char in enumerate(text):
        used += _of(char)
        if used > widest:
            return max(place, 1)
    return len(text)


def _of(char: str) -> float:
    if char.isascii():
        return _WIDTHS.get(char, _CAPITAL if char.isupper() else _SMALL)
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or not char.isalpha():
        return _SQUARE
    return _CAPITAL if char.isupper() else _ANY


# The neighbourhood of a memory as an SVG picture: the asked memory in the middle.


_FEW = 14  # nodes that are drawn large, with the similarities of their links
_LARGE, _SMALL_GRAPH = Type(13, 10, 3), Type(11.5, 9, 2)
_CENTRED = ' text-anchor="middle"'
_HEAD = 40.0  # the height of the heading


def graph_svg(around: Neighbourhood) -> str:
    """Returns the picture; the same neighbourhood gives the same text."""
    shown = picture(around)
    few = len(shown.nodes) <= _FEW
    type_ = _LARGE if few else _SMALL_GRAPH
    sizes = PictureSizes(*((236, type_.height, 120, 22) if few else (196, type_.height, 92, 11)))
    layout = moved(laid_out(shown, sizes), (MARGIN, MARGIN + _HEAD))
    title = _title(shown)
    parts = [text((MARGIN, MARGIN + 14), title, 15, more=' font-weight="bold"')]
    parts += _lines(shown, layout, numbers=few)
    parts += [
        drawn_box(node, box, type_, f"{node.kind} · {node.at.partition(' ')[0]}")
        for node, box in zip(shown.nodes, layout.boxes, strict=True)
    ]
    wide = max(layout.width + 2 * MARGIN, 520.0)
    below, high = _below(shown, wide, layout.height + 2 * MARGIN + _HEAD + 8)
    return document((wide, high), title, [*parts, *below], shown.looks)


def _title(shown: Picture) -> str:
    memories, links = len(shown.nodes), len(shown.edges)
    return (
        f"Around {shown.nodes[0].id}: {memories} {'memory' if memories == 1 else 'memories'}, "
        f"{links} {'link' if links == 1 else 'links'}"
    )


def _lines(shown: Picture, layout: Layout, *, numbers: bool) -> list[str]:
    """Returns the lines: first the faint ones, then those that lead to the asked memory."""
    arrows = {name: place for place, name in enumerate(shown.looks)}
    drawn = sorted(zip(shown.edges, layout.routes, strict=True), key=lambda pair: pair[1].trunk)
    parts = [
        line(
            route.points,
            shown.looks[edge.type],
            arrows[edge.type],
            thick=_thick(edge),
            strong=route.trunk or numbers or edge.similarity is None,
        )
        for edge, route in drawn
    ]
    if numbers:
        parts += [_similarity(edge, route) for edge, route in drawn if edge.similarity is not None]
    return parts


def _thick(edge: Edge) -> float:
    """Returns the width of a line: the more similar, the thicker."""
    return 1.6 if edge.similarity is None else 0.9 + 2 * max(edge.similarity - 0.4, 0.0)


def _similarity(edge: Edge, route: Route) -> str:
    x, y = route.middle
    words = text((x, y + 3.5), f"{edge.weight:.2f}", 10, fill=FAINT, more=_CENTRED)
    paper = rectangle(Box(x - 15, y - 7, 30, 14), PAPER)
    return f"{paper}\n{words}"


def _below(shown: Picture, wide: float, top: float) -> tuple[list[str], float]:
    """Returns the legend and what is not drawn, and where the picture ends."""
    counts = _counts(shown)
    parts, high = legend((MARGIN, top), wide - MARGIN, counts, shown.looks)
    if shown.more:
        left = f"{shown.more} more within reach {'is' if shown.more == 1 else 'are'} not drawn"
        parts.append(text((MARGIN, top + high), left, 11, fill=FAINT))
        high += 20
    return parts, top + high


def _counts(shown: Picture) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for edge in shown.edges:
        counts[edge.type] = counts.get(edge.type, 0) + 1
    return counts


# What superseded what, as an SVG picture: one row for each memory, the oldest first.
#
# Rails on the left lead from each memory down to the one that took its place, as in a history of
# commits.


_TYPE = Type(13, 10, 2)
_WIDTH, _SPACE, _RAIL, _DOT = 600.0, 16.0, 20.0, 5.0
_CHAIN_HEAD, _CLAIM = 44.0, 18.0
_SAID = {SUPERSEDES: "superseded by", NEWER_THAN: "perhaps updated by"}  # from the older one
_LOOKS = {_SAID[SUPERSEDES]: Look("#c2410c"), _SAID[NEWER_THAN]: Look("#0e7490", "5 4")}


@dataclass(frozen=True, slots=True)
class SuccessionLine:
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
    title = _chain_title(shown)
    looks = {name: look for name, look in _LOOKS.items() if name in {step.type for step in steps}}
    wide, top = left + _WIDTH + MARGIN, boxes[order[-1]].y + _TYPE.height + MARGIN
    counts = {name: sum(step.type == name for step in steps) for name in looks}
    below, high = legend((MARGIN, top), wide - MARGIN, counts, looks)
    parts = [
        text((MARGIN, MARGIN + 14), title, 15, more=' font-weight="bold"'),
        *_chain_lines(rails, steps, boxes, [*looks]),
        *(_chain_row(shown.nodes[node], box) for node, box in boxes.items()),
        *below,
    ]
    return document((wide, top + high), title, parts, looks)


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


def on_rails(shown: Picture, order: Sequence[int]) -> tuple[dict[int, int], list[SuccessionLine]]:
    """Returns the rail of each node, and lines on rails that do not run into each other."""
    rails: dict[int, int] = {}
    steps: list[SuccessionLine] = []
    heading: list[int | None] = []  # for each rail, the node that it leads to
    for node in order:
        own = [rail for rail, to in enumerate(heading) if to == node]
        for rail in own:
            heading[rail] = None
        rails[node] = own[0] if own else _free(heading)
        rail = rails[node]
        for edge in sorted(
            [edge for edge in shown.edges if edge.target == node and edge.type in _SAID],
            key=lambda edge: edge.type != SUPERSEDES,
        ):
            if edge.source not in rails:
                heading[rail] = edge.source
            steps.append(SuccessionLine(node, edge.source, _SAID[edge.type], rail))
            rail = _free(heading)
    return rails, steps


def _free(heading: list[int | None]) -> int:
    """Returns the first rail that leads nowhere, a new one if all are taken."""
    if None not in heading:
        heading.append(None)
    return heading.index(None)


def _chain_title(shown: Picture) -> str:
    count = len(shown.nodes)
    if count == 1:
        return f"{shown.nodes[0].id} superseded nothing and was not superseded"
    cut = f", {shown.more} more not drawn" if shown.more else ""
    return f"What superseded what around {shown.nodes[0].id}: {count} memories{cut}"


def _boxes(nodes: Sequence[Node], left: float) -> list[Box]:
    """Returns the boxes; one with a claim has its line above it."""
    boxes: list[Box] = []
    top = MARGIN + _CHAIN_HEAD
    for node in nodes:
        top += _CLAIM if node.claim else 0.0
        boxes.append(Box(left, top, _WIDTH, _TYPE.height))
        top += _TYPE.height + _SPACE
    return boxes


def _chain_row(node: Node, box: Box) -> str:
    drawn = drawn_box(node, box, _TYPE, f"{node.kind} · {node.at}")
    if not node.claim:
        return drawn
    above = Box(box.x, box.y - _CLAIM, box.width, _CLAIM)
    return f"{clipped(above, node.claim, 11.5)}\n{drawn}"


def _chain_lines(
    rails: Mapping[int, int],
    steps: Sequence[SuccessionLine],
    boxes: Mapping[int, Box],
    types: Sequence[str],
) -> list[str]:
    """Returns the lines to what came later, then the dots from which they start."""
    dots = {node: (_x(rails[node]), box.middle) for node, box in boxes.items()}
    parts = [
        line(
            _way(dots[step.node], _x(step.rail), dots[step.to]),
            _LOOKS[step.type],
            types.index(step.type),
            thick=1.8,
            strong=True,
        )
        for step in steps
    ]
    return parts + [tick(dots[node], box.x, _DOT, FAINT) for node, box in boxes.items()]


def _x(rail: int) -> float:
    return MARGIN + _RAIL * (rail + 0.5)


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
