"""Neighbourhoods and chains as Mermaid text, which GitHub and many editors draw.

Mermaid reads its text several times: for comments and settings, for entities, for HTML, icons,
formulas and Markdown. So a label keeps only letters, digits, spaces and single marks between them;
every other character is written as its number, `#60;`. Some versions act even on that
(`$$`, `fa:fa-car`, `*`, `1.`, `www.`): there the label has a character that looks the same.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from memory_mesh.formats.graph_layout import Tree, tree_of
from memory_mesh.formats.picture import (
    NEWER_THAN,
    SUPERSEDES,
    Edge,
    Look,
    Node,
    Picture,
    cut,
    picture,
)
from memory_mesh.model.graph import Neighbourhood
from memory_mesh.model.memory import Status

_COLUMNS = (44, 24, 12, 6)  # of a label: the first with which the picture is not too long
_FEW = 14  # nodes whose similarities are written at the lines
_MOST_LINES, _MOST_TEXT = 400, 48_000  # Mermaid stops at 500 lines and 50,000 characters
_PLAIN = frozenset(",.'-?!…")  # written as they are after a letter
_TWINS = tuple(
    (re.compile(acting), twin)
    for acting, twin in (
        (r"\\", "\u2216"),
        (r"(?<=\$)\$", "\uff04"),
        (r":(?=[^\W\d]|/)|^:", "\u2236"),  # icons, addresses
        ("\ufb02", "fl"),
        ("\xb6", "\u204b"),
        (r"\*", "\u2217"),
        (r"(?<![^\W_])_|_(?![^\W_])", "\u02cd"),
        ("`", "\u02cb"),
        ("~", "\u223c"),
        ("^#", "\uff03"),
        ("^-", "\u2010"),
        (r"^\+", "\uff0b"),
        ("^=", "\uff1d"),
        ("^>", "\u203a"),
        (r"(?i)(^\d+|\bwww)\.", "\\1\u2024"),
        (r"(^\d+)\)", "\\1\uff09"),
        (r"\](?=[(:])", "] "),
        (r"(?<=\S)@(?=\S)", "\uff20"),
    )
)
_LATER = {SUPERSEDES: '-->|"superseded by"|', NEWER_THAN: '-.->|"perhaps updated by"|'}
_CLASSES = {
    "asked": "fill:#fef3c7,stroke:#92400e,stroke-width:3px,color:#1e293b",
    "superseded": "fill:#f1f5f9,stroke:#c2410c,color:#64748b,stroke-dasharray:5 3",
    "quarantined": "fill:#fffbeb,stroke:#d97706,color:#78350f,stroke-dasharray:3 3",
    "disputed": "fill:#fef2f2,stroke:#dc2626,color:#7f1d1d,stroke-dasharray:3 3",
    "hidden": "fill:#f1f5f9,stroke:#94a3b8,color:#64748b,stroke-dasharray:2 3",
}


def graph_mermaid(around: Neighbourhood) -> str:
    """Returns a neighbourhood as a flowchart, with the asked memory in the middle."""
    shown = picture(around)
    tree = tree_of(shown)
    few = len(shown.nodes) <= _FEW
    edges = shown.edges if few else _most_telling(shown, tree)
    style = _strokes(edges, shown.looks)
    rest = _rest(shown.more, len(shown.edges) - len(edges))

    def lines(columns: int) -> list[str]:
        return [_line(edge, shown.looks[edge.type], tree, _said(edge, columns, numbers=few))
                for edge in edges] + style + rest  # fmt: skip

    return _chart("LR", shown, lines)


def chain_mermaid(chain: Neighbourhood) -> str:
    """Returns what superseded what as a flowchart from top to bottom, the oldest first."""
    shown = picture(chain)
    lines = [
        f"n{edge.target} {line} n{edge.source}"
        for edge in shown.edges
        if (line := _LATER.get(edge.type))
    ]
    return _chart("TB", shown, lambda _: lines + _rest(shown.more, 0))


def escaped(text: str) -> str:
    """Returns a text that Mermaid shows as it is, and in which it finds nothing to obey."""
    for acting, twin in _TWINS:
        text = acting.sub(twin, text)
    shown: list[str] = []
    after_letter = False
    for char in text:
        letter = unicodedata.category(char)[0] in "LM"
        plain = letter or char == " " or (char.isascii() and char.isdigit())
        if not plain and char in _PLAIN:
            plain = after_letter
        shown.append(char if plain else f"#{ord(char)};")
        after_letter = letter
    return "".join(shown)


def _chart(direction: str, shown: Picture, lines: Callable[[int], list[str]]) -> str:
    """Returns the text, with labels so short that Mermaid takes it."""
    drawn = ""
    for columns in _COLUMNS:
        rows = [
            *(f'n{place}["{_label(node, columns)}"]' for place, node in enumerate(shown.nodes)),
            *lines(columns),
            *_classes(shown.nodes),
        ]
        drawn = f"flowchart {direction}\n" + "".join(f"    {row}\n" for row in rows)
        if len(drawn) <= _MOST_TEXT:
            break
    return drawn


def _label(node: Node, columns: int) -> str:
    """Returns the first words; below them what the memory is, and since when."""
    status = "" if node.status is Status.ACTIVE else f" - {node.status.value}"
    day = node.at.partition(" ")[0]
    claim = f"{escaped(cut(node.claim, columns))}<br>" if node.claim else ""
    words = escaped(cut(node.words, columns))
    return f"{claim}{words}<br><small>{node.kind.replace('_', ' ')} {day}{status}</small>"


def _said(edge: Edge, columns: int, *, numbers: bool) -> str:
    """Returns what is written at a line."""
    if edge.similarity is None:
        return escaped(cut(edge.type, columns))
    return f"{edge.type} {edge.similarity:.2f}" if numbers else ""


def _line(edge: Edge, look: Look, tree: Tree, words: str) -> str:
    """Returns a line from the left to the right: Mermaid puts its end to the right of its start.

    Mermaid has no arrow that points to the start, so the label has it.
    """
    back = tree.columns[edge.source] > tree.columns[edge.target]
    left, right = (edge.target, edge.source) if back else (edge.source, edge.target)
    if back and look.arrow:
        words = f"← {words}"
    tip = ">" if look.arrow and not back else "" if look.dash else "-"
    said = f'|"{words}"|' if words else ""
    return f"n{left} {'-.-' if look.dash else '--'}{tip}{said} n{right}"


def _most_telling(shown: Picture, tree: Tree) -> list[Edge]:
    """Returns the ways to the asked memory and the links that are more than similarity.

    Each further line between memories of one distance would give Mermaid another column.
    """
    telling = [
        edge
        for place, edge in enumerate(shown.edges)
        if place in tree.trunk or edge.similarity is None
    ]
    return sorted(telling, key=lambda edge: -edge.weight)[:_MOST_LINES]


def _strokes(edges: Sequence[Edge], looks: Mapping[str, Look]) -> list[str]:
    """Returns a line for each type that gives its edges their colour."""
    strokes: list[str] = []
    for name, look in looks.items():
        own = [str(place) for place, edge in enumerate(edges) if edge.type == name]
        if own:
            strokes.append(f"linkStyle {','.join(own)} stroke:{look.color}")
    return strokes


def _classes(nodes: Sequence[Node]) -> Iterable[str]:
    """Returns how the asked memory and those that are not active are marked."""
    members: dict[str, list[str]] = {}
    for place, node in enumerate(nodes):
        if node.status is not Status.ACTIVE:
            name = node.status.value if node.status.value in _CLASSES else "hidden"
            members.setdefault(name, []).append(f"n{place}")
        if node.asked:
            members.setdefault("asked", []).append(f"n{place}")
    for name, own in sorted(members.items(), reverse=True):  # the mark of the asked one last
        yield f"classDef {name} {_CLASSES[name]}"
        yield f"class {','.join(own)} {name}"


def _rest(memories: int, links: int) -> list[str]:
    """Returns a box that says what is not drawn."""
    counts = ((memories, "memory", "memories"), (links, "link", "links"))
    said = [f"{count} more {one if count == 1 else many}" for count, one, many in counts if count]
    if not said:
        return []
    return [f'rest["not drawn: {" and ".join(said)}"]', "style rest fill:none,stroke:none"]
