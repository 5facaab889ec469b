"""Two wordings side by side: what was taken out, what came in, and who worded it so."""

import re
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise

from memory_mesh.base.typed import dataclass
from memory_mesh.model.why import BlockSummary, Version, Why

_PIECES = re.compile(r"\s+|\w+|[^\w\s]")
_MOST = 4_000  # pieces of both; above that a text is shown as replaced


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some words that stayed, went or came."""

    how: str  # same, out, in
    text: str


def changes(before: str, after: str) -> list[Stretch]:
    """The new wording with what it replaced, word by word."""
    old, new = _PIECES.findall(before), _PIECES.findall(after)
    if len(old) + len(new) > _MOST:
        found = [Stretch("out", before), Stretch("in", after)]
        return [Stretch("same", after)] if before == after else found
    stretches = []
    for how, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if how == "equal":
            stretches.append(Stretch("same", "".join(new[c:d])))
            continue
        stretches += [Stretch("out", "".join(old[a:b]))] if b > a else []
        stretches += [Stretch("in", "".join(new[c:d]))] if d > c else []
    return stretches


def writer(why: Why, version: Version) -> BlockSummary | None:
    """The block of a version, which says by whom and why; None where it is not on record."""
    written = version.memory.recorded_from
    at = written.replace(microsecond=written.microsecond // 1000 * 1000)  # as blocks state it
    return next((block for block in why.blocks if block.at == at), None)


def rewriter(why: Why, before: datetime) -> BlockSummary | None:
    """Who worded a memory as it read before a moment; None where nobody had changed its words."""
    known = [each for each in why.versions if each.memory.recorded_from <= before]
    changed = [new for old, new in pairwise(known) if old.memory.text != new.memory.text]
    return writer(why, changed[-1]) if changed else None
