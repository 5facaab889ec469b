"""Writes the parts of an SVG picture: numbers, texts and boxes that no content can break."""

from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats.graph_layout import Box, Point
from memory_mesh.formats.picture import Look, Node
from memory_mesh.formats.text_width import width, wrapped
from memory_mesh.model.memory import Status

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


def box(node: Node, place: Box, type_: Type, note: str) -> str:
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
