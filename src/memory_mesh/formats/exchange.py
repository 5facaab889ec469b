"""Memories as rows of a file that people and other programs read: JSON lines, CSV, Markdown.

A row is a mapping with `content` and, if there is more, `metadata`. A further format is one more
entry in WRITERS and READERS. Nothing here opens a file.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.model import Channel, InvalidInput, Json, Scope, SourceKind
from memory_mesh.model.learning import Turn
from memory_mesh.rules.arguments import moment
from memory_mesh.rules.trust import ceiling, lowered

Row = Mapping[str, Json]
TEXT_KEYS = ("content", "text", "memory")  # under which others write the text
DETAILS = (  # of a memory, which `add` takes under the same names
    *("kind", "speaker", "role", "order", "occurred_at", "valid_from", "valid_until"),
    *("importance", "confidence", "tags", "source_ref", "source_kind"),
)
_MOST = ceiling(Channel.IMPORT)
_COLUMNS = ("id", "content", "created_at", "project", *DETAILS, "metadata")
_LOWER = {kind.value for kind in SourceKind if lowered(kind, Channel.IMPORT) is not _MOST}
_apart = lazy_pattern(r"#{1,6}(\s|$)|([-*_=])\2\2+\s*$")  # a heading or a rule is no memory
_item = lazy_pattern(r"([-*+]|\d{1,3}[.)])\s")
_END = "- "  # behind the last line of a file: no line that is read has no end
_LISTS = ("tags",)  # whose items stand in one cell
_USERS = ("user_id", "user")  # under which others write whose a row is


@dataclass(frozen=True, slots=True)
class RowOfUser:
    """A row of a file that has those of several users, and whose it is, if it says so."""

    user: str | None
    row: object


@dataclass(frozen=True, slots=True)
class Chat:
    """One conversation of a file: what its user stated in it is found later."""

    title: str
    at: datetime | None
    turns: Sequence[Turn]


def format_of(name: str) -> str:
    """The format of a file by its ending."""
    ending = name[name.rfind(".") :].lower()
    if ending not in READERS:
        raise InvalidInput(f"a file of memories ends in {', '.join(READERS)}, not in {name!r}")
    return ending


def _json_lines(rows: Iterable[Row]) -> Iterator[str]:
    yield from (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: Iterable[Row]) -> Iterator[str]:
    yield from _csv_line(_COLUMNS)
    for row in rows:
        more = json.dumps(row.get("metadata") or {}, ensure_ascii=False)
        cells = {**row, **{name: ", ".join(map(str, _list(row.get(name)))) for name in _LISTS}}
        yield from _csv_line([*(cells.get(name, "") for name in _COLUMNS[:-1]), more])


def _csv_line(cells: Iterable[object]) -> Iterator[str]:
    import csv
    import io

    line = io.StringIO()
    csv.writer(line).writerow(cells)
    yield line.getvalue()


def _markdown(rows: Iterable[Row]) -> Iterator[str]:
    yield from ("- " + str(row["content"]).strip().replace("\n", "\n  ") + "\n" for row in rows)


def _from_json_lines(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                yield number, InvalidInput(f"it is no JSON: {error}")


def _from_csv(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    import csv

    rest = iter(lines)
    header = next(rest, "")
    reader = csv.DictReader(chain([header], rest), delimiter=max(",;\t", key=header.count))
    for row in reader:
        more = row.pop("metadata", None)
        try:
            yield reader.line_num, {**row, "metadata": json.loads(more)} if more else row
        except ValueError as error:
            wrong = InvalidInput(f"the metadata of {row.get('content')!r} is no JSON: {error}")
            yield reader.line_num, wrong


def _from_markdown(lines: Iterable[str]) -> Iterator[tuple[int, object]]:
    block, began, other, code = list[str](), 1, "", False  # an item, a paragraph or something else
    for number, line in enumerate(chain(lines, [_END]), 1):
        fence = line.startswith(("```", "~~~"))
        now = "a code block" if fence or code else "a table" if line.startswith("|") else ""
        code = code is not fence and line != _END
        item, apart = _item().match(line), _apart().match(line)
        after_gap = block and not block[-1] and line.strip() and not line.startswith("  ")
        if now != other or line == _END or (not now and (item or apart or after_gap)):
            if text := "\n".join(block).strip():
                yield began, InvalidInput(f"{other} is no memory") if other else text
            block, began, other = [], number, now
            line = "" if apart else line[item.end() if item else 0 :]  # noqa: PLW2901  # its text
        block.append(line.rstrip() if not block else line.strip())


WRITERS: Mapping[str, Callable[[Iterable[Row]], Iterator[str]]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".md": _markdown,
}
READERS: Mapping[str, Callable[[Iterable[str]], Iterator[tuple[int, object]]]] = {  # with its line
    ".jsonl": _from_json_lines,
    ".csv": _from_csv,
    ".md": _from_markdown,
}


def draft_of(row: object) -> dict[str, object] | InvalidInput:
    """What `add_many` takes for a row, or why it takes none; other keys become metadata."""
    if isinstance(row, InvalidInput):
        return row
    if isinstance(row, str):
        return {"content": row}
    if not isinstance(row, Mapping):
        return InvalidInput(f"a row must be a text or an object, not {type(row).__name__}")
    text = next((row[key] for key in TEXT_KEYS if isinstance(row.get(key), str)), None)
    if text is None:
        return InvalidInput(f"a row has no {', '.join(TEXT_KEYS)}: {list(row)}")
    known = row.get("metadata")
    given = {key: value for key, value in row.items() if value not in (None, "")}
    if given.get("source_kind") not in _LOWER:  # a file never raises trust
        given.pop("source_kind", None)
    said = {key: given.pop(key) for key in DETAILS if key in given}
    for name in _LISTS:
        if isinstance(tags := said.get(name), str):
            said[name] = [each.strip() for each in tags.split(",")]
    _read_numbers(said)
    if isinstance(project := given.pop("project", None), str):
        said["scope"] = Scope(project=project)
    with suppress(InvalidInput):  # what is no time stays in the metadata
        said.setdefault("occurred_at", moment("created_at", given.get("created_at")))
        given.pop("created_at", None)
    others = {
        key: value for key, value in given.items() if key not in {*TEXT_KEYS, "metadata", "id"}
    }
    return {
        "content": text,
        "metadata": {**others, **(known if isinstance(known, dict) else {})},
    } | said


def of_user(row: object) -> object:
    """A row as its user's, where it names one with a text or a number."""
    if not isinstance(row, Mapping):
        return row
    for key in _USERS:
        if type(row.get(key)) in {str, int} and (user := str(row[key]).strip()):
            return RowOfUser(user, {name: row[name] for name in row if name != key})
    return row


def _read_numbers(said: dict[str, object]) -> None:
    """Reads the numbers that a table holds as texts."""
    for name, kind in (("order", int), ("importance", float), ("confidence", float)):
        if isinstance(cell := said.get(name), str) and cell.replace(".", "", 1).isdecimal():
            said[name] = kind(cell)


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
