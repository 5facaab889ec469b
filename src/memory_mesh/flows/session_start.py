"""What a session starts with when nothing was asked yet: pinned, lessons, newest, most used."""

from collections.abc import Iterator

from memory_mesh.flows.access import Access
from memory_mesh.flows.lessons import INJECTED, lens_on_lessons
from memory_mesh.flows.rank import below_newer
from memory_mesh.model import Lens, Memory
from memory_mesh.model.graph import EPISODE
from memory_mesh.model.pack import Section
from memory_mesh.policy.packing.fitting import Wanted
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.flows.context import Asked

MOST_PINNED = 50
LOOKED_AT = 200  # of the newest memories; the most used are found among them


def at_start(access: Access, asked: "Asked") -> list[Wanted]:
    """Candidates in the order in which they are taken, each once."""
    from memory_mesh.flows.context import marked

    lens, rules = asked.lens, asked.rules
    on_lessons = lens_on_lessons(lens, rules.lesson_confidence, rules.lessons_since)
    with access.ledger.read(access.namespace) as snapshot:
        pinned = snapshot.page(lens, MOST_PINNED, None, pinned=True)
        lessons = snapshot.page(on_lessons, INJECTED, None, worst_first=True)
        newest = snapshot.page(lens, LOOKED_AT, None)
        found = [(memory, Section.PINNED) for memory in pinned]
        found += [(memory, Section.LESSON) for memory in lessons]
        found += _recent(lens, [one for one in newest if _may_be_listed(one)])
        once: dict[str, Wanted] = {}
        for memory, section in found:
            once.setdefault(memory.id, Wanted(memory, section))
        placed = below_newer(snapshot, lens, [one.memory for one in once.values()])
    return list(marked(placed, once))


def _may_be_listed(memory: Memory) -> bool:
    """Lessons and pinned memories have their place, and an episode is the sum of others."""
    return memory.lesson is None and not memory.pinned and memory.label != EPISODE


def _recent(lens: Lens, newest: list[Memory]) -> list[tuple[Memory, Section]]:
    """The newest and the most used in turns, those of the reader's own project first."""
    names = {lens.scope.project, *lens.scope.names}
    own = [memory for memory in newest if memory.scope.project in names]
    rest = [memory for memory in newest if memory.scope.project not in names]
    return [*_in_turns(own), *_in_turns(rest)]


def _in_turns(newest: list[Memory]) -> Iterator[tuple[Memory, Section]]:
    """Each once. A pack counts as a use of all that it holds, and so does not change the next."""
    used = iter(sorted(newest, key=lambda one: -one.uses))
    listed = set[str]()
    for memory in newest:
        if memory.id not in listed:
            listed.add(memory.id)
            yield memory, Section.RECENT
        often = next((one for one in used if one.id not in listed), None)
        if often is not None:
            listed.add(often.id)
            yield often, Section.USED if often.uses else Section.RECENT
