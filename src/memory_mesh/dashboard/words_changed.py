"""Two wordings side by side: what was taken out, and what came in."""

import re
from difflib import SequenceMatcher

from memory_mesh.base.typed import dataclass

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
