"""Reads and writes YAML as plain values, so that every text reads back as itself.

Reading follows YAML 1.2: `yes`, `on`, dates, `12:30:45`, `007` and `0x10` are text, never another
value. Anchors, aliases and tags are refused. Writing quotes every text that a reader of YAML 1.1 or
1.2 could take for something else.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import InvalidInput, Json

if TYPE_CHECKING:
    import yaml

MAX_FRONTMATTER_CHARACTERS = 20_000
_OTHER_LINE_ENDS = "\r\x85\u2028\u2029"  # YAML counts a line at each of them

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 50
_LONGEST_DIGITS = 300  # a longer number stays text
_LONGEST_KEY = 1_000  # libyaml reads no longer `key:` without a question mark
_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLEANS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
_NAMED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_READ_AS_VALUES = {
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "null",
    "none",
    "nan",
    "inf",
}


class YamlFault(InvalidInput):
    """The text is not YAML that is read here."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class YamlMap:
    """The values of a YAML map in their order, and the line (from 0) where each key stands."""

    values: dict[str, Json] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    block: bool = True  # one key per line, not `{a: 1}`


@dataclass(slots=True)
class _Open:
    """A list or map that is being read."""

    into: list[Json] | dict[str, Json]
    texts: bool  # scalars in here are never numbers or booleans
    key: str | None = None


def read_map(text: str, *, texts: frozenset[str] = frozenset()) -> YamlMap:
    """Returns the map that a YAML text holds; what stands under the keys in `texts` stays text."""
    import yaml

    if len(text) > MAX_CHARACTERS:
        raise YamlFault(f"it has more than {MAX_CHARACTERS} characters", 0)
    clean = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no character
    reader = _Reader(texts)
    try:
        for event in yaml.parse(clean, yaml.CSafeLoader):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"
        raise YamlFault(str(why), mark.line if mark is not None else 0) from None
    return reader.found


def quoted(text: str) -> str:
    """Returns the text in double quotes on one line."""
    return f'"{_escaped().sub(_escape, text)}"'


def plain(text: str) -> str:
    """Returns the text without quotes where no reader takes it for anything else."""
    if _plain_text().fullmatch(text) and text.lower() not in _READ_AS_VALUES:
        return text
    return quoted(text)


def flow(value: Json, depth: int = 1) -> str:
    """Returns any value on one line: `[a, b]`, `{a: 1}`, text, numbers."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"a value is nested more than {MAX_DEPTH} deep; make it flatter")
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(_flow_pairs(value, depth)) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(flow(item, depth + 1) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    written = repr(value)
    return written if _numbers().fullmatch(written) else quoted(written)


def entry(key: str, written: str) -> str:
    """Returns one line of a map, `key: value`; `written` is YAML already."""
    name = plain(key)
    return f"? {name}\n: {written}\n" if len(name) > _LONGEST_KEY else f"{name}: {written}\n"


def _flow_pairs(value: Mapping[str, Json], depth: int) -> Iterator[str]:
    for key, item in value.items():
        name = plain(key)
        start = "? " if len(name) > _LONGEST_KEY else ""
        yield (
            f"{start}{name} : {flow(item, depth + 1)}"
            if start
            else (f"{name}: {flow(item, depth + 1)}")
        )


class _Reader:
    """Builds the values from the parser's events, without recursion."""

    def __init__(self, texts: frozenset[str]) -> None:
        self.found = YamlMap()
        self._texts = texts
        self._opened: list[_Open] = []
        self._documents = 0

    def take(self, event: "yaml.Event") -> None:
        """Takes the next event; YamlFault says what is not read."""
        import yaml

        line = event.start_mark.line if event.start_mark is not None else 0
        if getattr(event, "anchor", None) is not None:
            raise YamlFault("it holds an anchor or alias, which is not read", line)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._opened.pop()
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise YamlFault("it holds more than one YAML document", line)

    def _open(self, event: "yaml.CollectionStartEvent", line: int) -> None:
        import yaml

        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag is not None:
            raise YamlFault(f"it holds the tag {event.tag}, which is not read", line)
        if len(self._opened) >= MAX_DEPTH:
            raise YamlFault(f"it is nested more than {MAX_DEPTH} deep", line)
        if self._opened:
            inner: list[Json] | dict[str, Json] = {} if mapping else []
            texts = self._texts_below()
            self._place(inner, line)
            self._opened.append(_Open(inner, texts))
        elif mapping:
            self.found.block = not event.flow_style
            self._opened.append(_Open(self.found.values, texts=False))
        else:
            raise YamlFault("it must be a map of names and values", line)

    def _scalar(self, event: "yaml.ScalarEvent", line: int) -> None:
        if event.tag not in {None, "!", "tag:yaml.org,2002:str"}:
            raise YamlFault(f"it holds the tag {event.tag}, which is not read", line)
        top = self._opened[-1] if self._opened else None
        if top is None:
            if event.value or event.style:
                raise YamlFault("it must be a map of names and values", line)
        elif isinstance(top.into, dict) and top.key is None:
            top.key = event.value
            if len(self._opened) == 1:
                self._note_key(event.value, line)
        elif event.style or event.tag is not None:  # quoted, a block, or `!!str`
            self._place(event.value, line)
        else:
            self._place(_value(event.value, texts=self._texts_below()), line)

    def _note_key(self, key: str, line: int) -> None:
        if key in self.found.lines:
            self.found.repeated.append(key)
        else:
            self.found.lines[key] = line

    def _texts_below(self) -> bool:
        """True when what comes next in the innermost list or map stays text."""
        top = self._opened[-1]
        return top.texts or (len(self._opened) == 1 and top.key in self._texts)

    def _place(self, value: Json, line: int) -> None:
        """Puts a value into the innermost list or map."""
        top = self._opened[-1]
        if isinstance(top.into, list):
            top.into.append(value)
        elif top.key is None:
            raise YamlFault("it holds a list or map as a key, which is not read", line)
        else:
            top.into[top.key] = value
            top.key = None


def _value(text: str, *, texts: bool) -> Json:
    """What an unquoted scalar means."""
    if text in _NULLS:
        return None
    if texts:
        return text
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > _LONGEST_DIGITS or not _numbers().fullmatch(text):
        return text
    if text.lstrip("-").isdigit():
        return int(text)
    number = float(text)
    return number if repr(number) not in {"inf", "-inf"} else text


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _NAMED.get(character, f"\\U{ord(character):08X}")


# Every character that cannot stand as it is between double quotes.
_escaped = lazy_pattern(
    '[\\x00-\\x1f\\\\"\\x7f-\\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f'
    "\ufeff\ufff0-\ufffb\ufffe\uffff]|[\U0001fffe\U0001ffff\U000e0000-\U0010ffff]"
)


_plain_text = lazy_pattern(r"[A-Za-z](?:[A-Za-z0-9_./-]| (?=[A-Za-z0-9]))*", re.ASCII)


_numbers = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


# Reads YAML frontmatter between `---` lines: plain values only, no aliases, dates as text.
#
# `edited` changes single keys of it and keeps every other line as its author wrote it.


def read(text: str) -> dict[str, Json]:
    """Returns the mapping of a frontmatter; InvalidInput says where it is invalid."""
    if len(text) > MAX_FRONTMATTER_CHARACTERS:
        raise InvalidInput(f"the frontmatter has more than {MAX_FRONTMATTER_CHARACTERS} characters")
    try:
        return read_map(text).values
    except YamlFault as fault:
        raise InvalidInput(f"line {fault.line + 1} of the frontmatter: {fault}") from None


def edited(text: str, changed: Mapping[str, str | None]) -> str | None:
    """Returns the frontmatter with the lines of these keys replaced, added or (None) removed.

    None is returned where the keys do not stand one below the other, so that nothing can be kept.
    """
    try:
        found = read_map(text)
    except YamlFault:
        return None
    if not found.block or found.repeated or any(end in text for end in _OTHER_LINE_ENDS):
        return None
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []
    starts = sorted(found.lines.values())
    following = dict(pairwise((*starts, len(lines))))
    added = [written for key, written in changed.items() if written and key not in found.lines]
    last = max((_end(lines, start, following[start]) for start in starts), default=len(lines))
    lines[last:last] = added
    for key in sorted(found.lines, key=found.lines.__getitem__, reverse=True):
        if key in changed:
            start = found.lines[key]
            lines[start : _end(lines, start, following[start])] = [changed[key] or ""]
    return "".join(lines)


def _end(lines: list[str], start: int, following: int) -> int:
    """The end of a key's lines; blank lines and comments behind them belong to nobody."""
    while following > start + 1 and lines[following - 1][:1] in {"#", "\n", "\r"}:
        following -= 1
    return following
