"""Links between memories from relatedMemories and [[wiki links]], and back to names of files.

A name is the path or name of a file, with or without its ending, or the title of a memory. A name
that leads nowhere yet is remembered until a memory of that name comes.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from memory_mesh.errors import NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.formats.notes import wiki_links
from memory_mesh.mirror import mapping
from memory_mesh.mirror.applying import Taken
from memory_mesh.mirror.matching import title_key
from memory_mesh.mirror.report import Line
from memory_mesh.mirror.run import SLICE, Run
from memory_mesh.mirror.scan import ENDING
from memory_mesh.mirror.state import HELD, Delta, Held
from memory_mesh.model import Channel, Memory

_REASON = "named in the memory's document"


def join(run: Run, taken: Sequence[Taken]) -> None:
    """Links the memories of documents that were taken over to those that they name.

    Those that an interrupted run left are linked too.
    """
    waiting = _waiting(run, [one.entry for one in taken])
    names = {one.entry.memory: names_in(one.group.document) for one in taken}
    unjoined = run.state.unjoined()
    for start in range(0, len(unjoined), SLICE):
        delta = Delta()
        for held in unjoined[start : start + SLICE]:
            _link(run, held, names.get(held.memory) or _read(run, held), delta)
        run.write(delta)
    delta = Delta()
    for memory in waiting:
        wishing = run.state.of_memory(memory)
        if wishing is not None and wishing.status == HELD:
            _link(run, wishing, _read(run, wishing), delta, more=True)
    run.write(delta)


def names_in(document: MemoryFile) -> list[str]:
    """The names that a document links to."""
    return [*document.related, *wiki_links(document.body)]


def _read(run: Run, held: Held) -> list[str]:
    """The names in a document that is not at hand."""
    from memory_mesh.mirror.exporting import present

    _, group = present(run, held)
    return [] if group is None else names_in(group.document)


def names_for(run: Run, memory: Memory, stated: Sequence[str]) -> list[str]:
    """The relatedMemories of a memory: those stated and still linked, then those linked since."""
    linked = set(run.linked(memory.id))
    kept: list[str] = []
    for name in stated:
        found = _found(run, name)
        if found is None or found.memory in linked:
            kept.append(name)
            linked -= set() if found is None else {found.memory}
    inside = {one.memory for name in wiki_links(memory.text) if (one := _found(run, name))}
    others = (run.state.of_memory(id_) for id_ in sorted(linked - inside))
    return kept + [held.path for held in others if held is not None and held.status == HELD]


def _link(run: Run, held: Held, names: Iterable[str], delta: Delta, *, more: bool = False) -> None:
    """Links a memory to the named ones; takes away links whose names are gone, unless `more`."""
    found, wishes = _looked_up(run, held, names)
    targets = list(dict.fromkeys([*(held.links if more else ()), *found]))
    linked = run.linked(held.memory) if targets else ()
    news = [id_ for id_ in targets if id_ not in linked]
    olds = [id_ for id_ in held.links if id_ not in targets]
    if not run.dry:
        _change(run, held.memory, news, olds)
    if wishes or not more:
        delta.wishes[held.memory] = tuple(wishes)
    run.report.linked += [Line(held.path, memory=held.memory, words=id_) for id_ in news]
    memory = run.latest(held.memory) if news or olds else None
    if memory is None:
        known = replace(held, links=tuple(targets), joined=True)
        delta.entries += [] if held == known else [known]
        return
    ties = run.linked(memory.id)
    store = mapping.digest_of(memory, ties)
    known = replace(held, links=tuple(targets), ties=ties, store=store, joined=True)
    delta.entries.append(known)


def _looked_up(run: Run, held: Held, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The memories that names lead to, and the names that lead nowhere yet."""
    targets: list[str] = []
    wishes: list[str] = []
    for name in dict.fromkeys(names):
        found = _found(run, name)
        if found is None:
            wishes.append(_key(name))
        elif found.memory != held.memory:
            targets.append(found.memory)
    return targets, wishes


def _change(run: Run, memory: str, news: Sequence[str], olds: Sequence[str]) -> None:
    view = run.view(Channel.MIRROR)
    for id_ in news:
        with suppress(NotFound):  # the other memory was deleted meanwhile
            view.link(memory, id_, reason=_REASON)
    for id_ in olds:
        with suppress(NotFound):
            view.unlink(memory, id_, reason=_REASON)


def _waiting(run: Run, entries: Sequence[Held]) -> list[str]:
    """The memories whose documents named one of these before it existed."""
    names: list[str] = []
    for held in entries:
        stem = held.path.removesuffix(ENDING)
        names += [held.title, title_key(stem), title_key(stem.rpartition("/")[2])]
    return run.state.wishing(dict.fromkeys(names))


def _found(run: Run, name: str) -> Held | None:
    """The document that a name means: a path, a file's name, or a title."""
    plain = name.strip().removeprefix("[[").removesuffix("]]").split("|")[0].strip()
    path = plain if plain.endswith(ENDING) else plain + ENDING
    found = run.state.at(path) or run.state.titled(title_key(plain))
    return found[0] if found else None


def _key(name: str) -> str:
    plain = name.strip().removeprefix("[[").removesuffix("]]").split("|")[0]
    return title_key(plain.removesuffix(ENDING))
