"""How things are shown: nothing stored can act on a terminal, in a pipe no less than on a screen.

Every line goes through `safe_text`; JSON is plain ASCII. Bold and dim are only for a terminal whose
owner did not ask for `NO_COLOR`, and never for the lines that RFC-0011 fixes.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import Json, Memory, Skill, record

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_LINE = 80  # columns of what a listing shows of a text
_WIDE = 2  # columns of an East Asian character


def say(text: str) -> None:
    """One of RFC-0011's texts, or any other, made harmless."""
    print(safe_text(text))


def say_json(value: Json) -> None:
    """The value as ASCII JSON."""
    import json

    print(json.dumps(value, ensure_ascii=True, indent=2))


def answer(plain: Json, *lines: str, as_json: bool, remark: str = "") -> int:
    """Print what a command did, as JSON or as lines with a hint; the exit code of success."""
    if as_json:
        say_json(plain)
        return 0
    for line in lines:
        say(line)
    if remark:
        hint(remark)
    return 0


def unbroken(text: str) -> str:
    """The text made harmless and on one line, however long: nothing in it can pose as a line."""
    return " ".join(safe_text(text, keep_newlines=False).split())


def hint(text: str) -> None:
    """A word to a person; scripts do not get it."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(safe_text(text), file=sys.stderr)


def progress(line: str) -> None:
    """Replace the line on a person's terminal that counts along; an empty one ends it."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)


def reindex_hint(texts: int) -> str:
    """What to do about texts that an earlier version read the words of."""
    return f"{texts} texts have keyword terms of an earlier version; run `memory-mesh upkeep`."


def bold(text: str) -> str:
    """The text made harmless, and bold where that can be seen."""
    return _styled(_BOLD, text)


def dim(text: str) -> str:
    """The text made harmless, and dim where that can be seen."""
    return _styled(_DIM, text)


def on_terminal() -> bool:
    """True when a person reads along."""
    return sys.stdout is not None and sys.stdout.isatty()


def described(memory: Memory) -> dict[str, Json]:
    """All there is to know of a memory, in plain values; what is not set is left out."""
    times = {
        "created_at": memory.created,
        "updated_at": memory.recorded_from if memory.recorded_from > memory.created else None,
        "occurred_at": memory.occurred_at,
        "valid_from": memory.valid_from,
        "valid_until": memory.valid_until,
    }
    known: dict[str, Json] = {
        "id": memory.id,
        "type": record.shown_type(memory),
        "kind": memory.kind.value,
        "status": memory.status.value,
        "pinned": memory.pinned or None,
        "project": memory.scope.project,
        "agent": memory.scope.agent,
        "session": memory.scope.session,
        "speaker": memory.speaker,
        "role": memory.role,
        "order": memory.order,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "tags": list(memory.tags) or None,
        "source": memory.source.agent,
        "channel": memory.source.channel.value,
        "uses": memory.uses,
        **{name: record.iso(time) for name, time in times.items() if time is not None},
        "metadata": memory.metadata or None,
        "content": memory.text,
    }
    return {name: value for name, value in known.items() if value is not None}


def described_skill(skill: Skill) -> dict[str, Json]:
    """A skill in plain values."""
    return {
        "id": skill.id,
        "name": skill.name,
        "intent": skill.intent,
        "metadata": skill.metadata,
        "created_at": skill.created_at,
        "yamo_text": skill.text,
    }


def skill_line(skill: Skill) -> str:
    """A skill on one line of a listing."""
    shown = f"{skill.name}: {skill.intent}"
    return f"{skill.id}  {skill.reliability:.2f}  {one_line(shown, _LINE)}"


def one_line(text: str, columns: int) -> str:
    """The text made harmless, on one line, cut to this many columns of a terminal."""
    import unicodedata

    line = unbroken(text)
    used = 0
    for position, char in enumerate(line):
        used += _WIDE if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns:
            return line[: max(position - 1, 0)] + "…"
    return line


def pairs(values: Mapping[str, str]) -> Sequence[str]:
    """Names and values as aligned lines."""
    width = max(map(len, values), default=0)
    return [
        f"{dim(name + ':')}{' ' * (width - len(name))} {safe_text(value, keep_newlines=False)}"
        for name, value in values.items()
    ]


def _styled(style: str, text: str) -> str:
    harmless = safe_text(text, keep_newlines=False)
    if not on_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return harmless
    return f"{style}{harmless}{_PLAIN}"
