"""The neighbourhood of a memory as an SVG picture: the asked memory in the middle."""

from collections.abc import Mapping

from memory_mesh.formats import svg
from memory_mesh.formats.graph_layout import Box, Layout, Route, Sizes, laid_out, moved
from memory_mesh.formats.picture import Edge, Picture, picture
from memory_mesh.model.graph import Neighbourhood

_FEW = 14  # nodes that are drawn large, with the similarities of their links
_LARGE, _SMALL = svg.Type(13, 10, 3), svg.Type(11.5, 9, 2)
_CENTRED = ' text-anchor="middle"'
_HEAD = 40.0  # the height of the heading


def graph_svg(around: Neighbourhood) -> str:
    """Returns the picture; the same neighbourhood gives the same text."""
    shown = picture(around)
    few = len(shown.nodes) <= _FEW
    type_ = _LARGE if few else _SMALL
    sizes = Sizes(*((236, type_.height, 120, 22) if few else (196, type_.height, 92, 11)))
    layout = moved(laid_out(shown, sizes), (svg.MARGIN, svg.MARGIN + _HEAD))
    title = _title(shown)
    parts = [svg.text((svg.MARGIN, svg.MARGIN + 14), title, 15, more=' font-weight="bold"')]
    parts += _lines(shown, layout, numbers=few)
    parts += [
        svg.box(node, box, type_, f"{node.kind} · {node.at.partition(' ')[0]}")
        for node, box in zip(shown.nodes, layout.boxes, strict=True)
    ]
    wide = max(layout.width + 2 * svg.MARGIN, 520.0)
    below, high = _below(shown, wide, layout.height + 2 * svg.MARGIN + _HEAD + 8)
    return svg.document((wide, high), title, [*parts, *below], shown.looks)


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
        svg.line(
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
    words = svg.text((x, y + 3.5), f"{edge.weight:.2f}", 10, fill=svg.FAINT, more=_CENTRED)
    paper = svg.rectangle(Box(x - 15, y - 7, 30, 14), svg.PAPER)
    return f"{paper}\n{words}"


def _below(shown: Picture, wide: float, top: float) -> tuple[list[str], float]:
    """Returns the legend and what is not drawn, and where the picture ends."""
    counts = _counts(shown)
    parts, high = svg.legend((svg.MARGIN, top), wide - svg.MARGIN, counts, shown.looks)
    if shown.more:
        left = f"{shown.more} more within reach {'is' if shown.more == 1 else 'are'} not drawn"
        parts.append(svg.text((svg.MARGIN, top + high), left, 11, fill=svg.FAINT))
        high += 20
    return parts, top + high


def _counts(shown: Picture) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for edge in shown.edges:
        counts[edge.type] = counts.get(edge.type, 0) + 1
    return counts
