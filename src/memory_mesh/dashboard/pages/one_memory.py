"""One memory: its wordings through time, who said it, how far it is trusted, where it was used."""

from memory_mesh.base.typed import dataclass
from memory_mesh.dashboard.asked import EVERY_STATUS, EVERYONE, Asked, Drawing, PageRoute, Shown
from memory_mesh.dashboard.pages.memories import PATH
from memory_mesh.dashboard.words_changed import Stretch, changes, rewriter, writer
from memory_mesh.formats.svg import graph_svg
from memory_mesh.model import Link, Memory
from memory_mesh.model.why import Version

_AROUND = 24  # memories of the drawing
_SHOWN = 0.005  # of trust: less reads as nothing
_PARTS = ("source", "origins", "votes", "age", "limits")  # of trust, in the order of `explain`


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory that a link leads to."""

    link: Link
    memory: Memory
    leads: bool  # from the memory of the page; else to it


def show(asked: Asked) -> Shown:
    """The memory as it is, or one of its earlier versions."""
    memory = asked.memory(asked.path["id"])
    why = asked.mesh.explain(memory.id, scope=memory.scope, see_across=EVERYONE)
    chosen = _chosen(asked, why.versions)
    ends = {end for link in why.links for end in (link.source, link.target)} - {memory.id}
    known = {each.id: each for each in _named(asked, sorted(ends))}
    shown = why.versions[chosen - 1] if why.versions else Version(memory)
    values = {
        "memory": memory,
        "written": writer(why, shown),
        "reworded": rewriter(why, asked.now),
        "why": why,
        "versions": why.versions,
        "chosen": chosen,
        "shown": shown,
        "changes": _changes(why.versions, chosen),
        "neighbours": [
            Neighbour(link, known[end], link.source == memory.id)
            for link in why.links
            for end in (link.target if link.source == memory.id else link.source,)
            if end in known
        ],
        "parts_of_trust": [
            (name, why.trust[name]) for name in _PARTS if abs(why.trust.get(name, 0)) >= _SHOWN
        ],
        "trust": why.trust.get("trust"),
        "edited": asked.one("edit") == "yes",
    }
    return Shown("one_memory.html", values)


def around(asked: Asked) -> Drawing:
    """The memories around one, as a drawing."""
    memory = asked.memory(asked.path["id"])
    found = asked.mesh.graph.neighbourhood(
        memory.id, hops=2, limit=_AROUND, include=EVERY_STATUS, scope=memory.scope
    )
    return Drawing(graph_svg(found))


def _chosen(asked: Asked, versions: tuple[Version, ...]) -> int:
    """The number of the version to show; the last one where none is asked for."""
    return asked.number("version", len(versions), len(versions))


def _changes(versions: tuple[Version, ...], chosen: int) -> list[Stretch]:
    if chosen < 2 or len(versions) < chosen:  # noqa: PLR2004  # the first has none before it
        return []
    return changes(versions[chosen - 2].memory.text, versions[chosen - 1].memory.text)


def _named(asked: Asked, ids: list[str]) -> list[Memory]:
    if not ids:
        return []
    return asked.mesh.get_all(
        filter={"id": {"$in": ids[:200]}}, across=EVERYONE, include=EVERY_STATUS, limit=200
    )


ROUTES = (
    PageRoute(f"{PATH}/{{id}}", show),
    PageRoute(f"{PATH}/{{id}}/around.svg", around),
)
