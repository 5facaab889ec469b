"""Files of other memory tools: which tool wrote a file, and its memories as rows.

A row is what `exchange.draft_of` reads. Nothing here runs what a file says: pickled points are read
as plain values.
"""

import io
import json
import pickle
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from memory_mesh.base.typed import Any, TypeAlias, dataclass
from memory_mesh.care import notes
from memory_mesh.formats import exchange
from memory_mesh.formats.exchange import Chat, RowOfUser
from memory_mesh.model import InvalidInput
from memory_mesh.model.learning import Turn

_HEAD = 1 << 16  # characters that tell what a file is
_POINT = 1 << 20  # bytes of the largest point that is read
_LONGEST = 1 << 26  # characters of the longest item of a list
_SQLITE = b"SQLite format 3\0"
_CHATS = "conversations.json"  # of an export, alone or in its zip


Item: TypeAlias = tuple[str, object]  # its place, and a row, a `Chat` or what is wrong with it
Rows: TypeAlias = Callable[[Path], Iterator[Item]]


@dataclass(frozen=True, slots=True)
class FileOf:
    """Which tool wrote a file, in words, and how it is read."""

    name: str
    rows: Rows


def recognized(path: Path) -> FileOf | None:
    """The tool that wrote the file or folder; None for what it cannot be told of."""
    if not path.exists():
        return None
    if path.is_dir():
        return _folder(path)
    if path.name in _RULE_FILES:
        return FileOf(f"a file of rules for agents ({path.name})", lines_of)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_SQLITE):
        return _database(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if _CHATS not in archive.namelist():
                return None
            with archive.open(_CHATS) as inside:
                head = inside.read(_HEAD)
    return _of_text(path, head.decode("utf-8-sig", "replace").lstrip())


def _of_text(path: Path, text: str) -> FileOf | None:
    if text.startswith("[") or (text.startswith("{") and path.suffix == ".json"):
        return next((known for mark, known in _MARKS if f'"{mark}"' in text), _PLAIN)
    first = text.partition("\n")[0]
    if '"type"' in first and ('"entityType"' in first or '"relationType"' in first):
        return FileOf("a knowledge graph of server-memory", _graph)
    if path.suffix == ".jsonl" and notes.is_transcript(path):
        return _TRANSCRIPTS
    return _NOTE if path.suffix == ".md" and first.rstrip() == "---" else None


def _folder(path: Path) -> FileOf | None:
    if list(path.glob(_POINTS)):
        return _OF_QDRANT
    name = notes.folder_name(path)
    if name == _TRANSCRIPTS.name:
        return _TRANSCRIPTS
    return None if name is None else FileOf(name, notes.rows_of_notes)


def lines_of(source: Path) -> Iterator[Item]:
    """The rows of a file whose ending says what it is, each with its line."""
    read = exchange.READERS[exchange.format_of(source.name)]
    with source.open(encoding="utf-8-sig", newline="") as file:
        yield from ((f"line {line}", exchange.of_user(row)) for line, row in read(file))


# JSON, an item of a list at a time


def _items(path: Path) -> Iterator[tuple[str, Any]]:
    """The items of the list that the file holds, or that its only object has."""
    with ExitStack() as opened:
        file: TextIO
        if zipfile.is_zipfile(path):
            archive = opened.enter_context(zipfile.ZipFile(path))
            file = io.TextIOWrapper(opened.enter_context(archive.open(_CHATS)), "utf-8-sig")
        else:
            file = opened.enter_context(path.open(encoding="utf-8-sig"))
        yield from ((f"item {place}", item) for place, item in enumerate(_listed(file), 1))


def _listed(file: TextIO) -> Iterator[Any]:
    """Reads a list item by item, so that a long one is never held whole."""
    text = file.read(_HEAD).lstrip()
    if not text.startswith("["):
        whole = json.loads(text + file.read(_LONGEST))
        found = [value for value in whole.values() if isinstance(value, list)]
        yield from found[0] if found else [whole]
        return
    decoder, text, more = json.JSONDecoder(), text[1:], _HEAD
    while True:
        text = text.lstrip(" \t\r\n,")
        if text.startswith("]"):
            return
        try:
            item, end = decoder.raw_decode(text)
            whole = len(text) > end  # a number may go on behind what was read
        except ValueError:
            whole = False
        if whole:
            yield item
            text, more = text[end:], _HEAD
        elif not (read := file.read(more)) or len(text) > _LONGEST:
            raise InvalidInput("the list of its items has no end, or one that is too long")
        else:
            text, more = text + read, more * 2


def _list(path: Path) -> Iterator[Item]:
    yield from ((place, exchange.of_user(item)) for place, item in _items(path))


def _mem0(path: Path) -> Iterator[Item]:
    for place, item in _items(path):
        yield place, _of_mem0(item) if isinstance(item, dict) else item


def _of_mem0(item: Mapping[str, Any]) -> RowOfUser:
    """An item of mem0 as its user's row; what its tables keep for themselves is left out."""
    inner = item.get("metadata")
    given = {
        **(inner if isinstance(inner, dict) else {}),
        **{name: item[name] for name in item if name != "metadata"},
    }
    text = given.pop("memory", None) or given.pop("data", None) or given.get("content")
    row = {key: value for key, value in given.items() if key not in _MEM0_OWN}
    if "expiration_date" in row:
        row["valid_until"] = row.pop("expiration_date")
    user = given.get("user_id")
    return RowOfUser(user if _is_text(user) else None, {**row, "content": text})


_MEM0_OWN = (
    *("id", "hash", "score", "updated_at", "user_id", "text_lemmatized", "data", "memory"),
    *("is_deleted", "memory_id", "event", "old_memory", "new_memory"),
)


def _chatgpt(path: Path) -> Iterator[Item]:
    for place, item in _items(path):
        nodes = item.get("mapping") if isinstance(item, dict) else None
        if not isinstance(nodes, dict):
            yield place, InvalidInput("it is no conversation")
            continue
        said = [node.get("message") for node in nodes.values() if isinstance(node, dict)]
        turns = [
            Turn(role=str(_at(each, "author", "role")), text="\n".join(filter(_is_text, parts)))
            for each in said
            if isinstance(parts := _at(each, "content", "parts"), list)
        ]
        yield place, _chat(item.get("title"), item.get("create_time"), turns)


def _claude(path: Path) -> Iterator[Item]:
    for place, item in _items(path):
        said = item.get("chat_messages") if isinstance(item, dict) else None
        if not isinstance(said, list):
            yield place, InvalidInput("it is no conversation")
            continue
        turns = [
            Turn(role="user" if _at(each, "sender") == "human" else "assistant", text=text)
            for each in said
            if isinstance(text := _at(each, "text"), str)
        ]
        yield place, _chat(item.get("name"), item.get("created_at"), turns)


def _chat(title: object, at: object, turns: Sequence[Turn]) -> Chat:
    when = None
    try:
        if isinstance(at, str):
            when = datetime.fromisoformat(at)
            when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
        elif isinstance(at, int | float):
            when = datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        pass  # a chat without a time that can be read
    spoken = [turn for turn in turns if turn.role in {"user", "assistant"} and turn.text.strip()]
    return Chat(title if isinstance(title, str) and title else "a chat", when, spoken)


def _at(value: Any, *names: str) -> Any:  # noqa: ANN401  # of JSON
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_text(part: object) -> bool:
    return isinstance(part, str)


def _graph(path: Path) -> Iterator[Item]:
    """Parts of a knowledge graph as the tools of `mcp --compat server-memory` keep them."""
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"line {number}"
            try:
                item = json.loads(line)
                yield from ((place, row) for row in _parts(item, number))
            except (ValueError, KeyError, TypeError):
                yield place, InvalidInput("it is no entity and no relation")


def _parts(item: Mapping[str, Any], place: int) -> list[Mapping[str, Any]]:
    if item["type"] == "relation":
        start, end, sort = item["from"], item["to"], item["relationType"]
        said = {"graph": "relation", "from": start, "to": end, "relation": sort}
        return [_part(f"{start} {str(sort).replace('_', ' ')} {end}", place, said)]
    name, sort = item["name"], item["entityType"]
    node = _part(f"{name} ({sort})", place, {"graph": "entity", "entity": name, "sort": sort})
    return [node] + [
        _part(f"{name}: {one}", place, {"graph": "observation", "entity": name})
        for one in item.get("observations", ())
    ]


def _part(content: str, place: int, said: Mapping[str, object]) -> Mapping[str, Any]:
    return {"content": content, "tags": ["knowledge-graph"], "metadata": {**said, "place": place}}


# Databases, opened for reading


def _database(path: Path) -> FileOf | None:
    with _opened(path) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    return next((known for names, known in _TABLES if names <= tables), None)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            yield database
    except sqlite3.Error as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error


def _of_table(sql: str, row: Callable[..., Mapping[str, Any]]) -> Rows:
    def rows(path: Path) -> Iterator[Item]:
        with _opened(path) as database:
            found = enumerate(database.execute(sql), 1)
            yield from ((f"row {place}", row(*values)) for place, values in found)

    return rows


_HISTORY = """
SELECT new_memory, created_at, actor_id, role FROM history AS h WHERE event <> 'DELETE'
AND rowid = (SELECT max(rowid) FROM history WHERE memory_id = h.memory_id) ORDER BY rowid"""


def _of_history(text: str, at: str, actor: str, role: str) -> Mapping[str, Any]:
    return {"content": text, "created_at": at, "speaker": actor, "role": role}


_ITEMS = """
SELECT prefix, key, CAST(value AS TEXT), created_at FROM store ORDER BY created_at, prefix, key"""


def _of_item(prefix: str, key: str, value: str, at: str) -> Mapping[str, Any]:
    """An item of a LangGraph store: its text, or all of its value as JSON."""
    try:
        given = json.loads(value)
    except ValueError:
        given = value
    text = next((given[name] for name in _TEXTS if _is_text(_at(given, name))), value)
    return {"content": text, "created_at": at, "metadata": {"namespace": prefix, "item": key}}


_TEXTS = ("content", "text", "memory", "data")
_OBSERVATIONS = """
SELECT o.content, o.category, o.context, e.title, e.created_at FROM observation AS o
JOIN entity AS e ON e.id = o.entity_id ORDER BY o.id"""


def _of_observation(
    text: str, category: str, context: str, title: str, at: str
) -> Mapping[str, Any]:
    about = {"category": category, "context": context, "note": title}
    said = {name: value for name, value in about.items() if value}
    return {"content": f"{title}: {text}", "created_at": at, "metadata": said}


_POINTS = "**/collection/*/storage.sqlite"  # of a Qdrant in a folder, where mem0 keeps its memories


def _points(path: Path) -> Iterator[Item]:
    found = sorted(path.glob(_POINTS)) if path.is_dir() else [path]
    for file in found:
        with _opened(file) as database:
            for id_, blob in database.execute("SELECT id, point FROM points ORDER BY rowid"):
                yield f"point {id_}", _point(blob)


def _point(blob: bytes) -> RowOfUser | InvalidInput:
    try:
        point = _Values(io.BytesIO(blob[:_POINT])).load()
    except _NO_PICKLE as error:
        return InvalidInput(f"the point cannot be read: {error}")
    payload = _at(point, "__dict__", "payload")
    if not isinstance(payload, dict):
        return InvalidInput("the point has no payload")
    return _of_mem0({str(key): value for key, value in payload.items() if _is_flat(value)})


_NO_PICKLE = (
    *(pickle.UnpicklingError, EOFError, ValueError, LookupError, TypeError),
    *(AttributeError, OverflowError, RecursionError),
)


def _is_flat(value: object) -> bool:
    """A scalar, or a list of them: what a point holds may be nested without end."""
    parts = value if isinstance(value, list) else (value,)
    return all(isinstance(part, str | int | float | None) for part in parts)


class _Plain(dict[Any, Any]):
    """Stands for every class that a pickle names: it keeps what it is given and runs nothing."""

    def __init__(self, *_: object) -> None:
        super().__init__()

    def __setstate__(self, state: object) -> None:
        self.update(state if isinstance(state, dict) else {})


class _Values(pickle.Unpickler):
    def find_class(self, _module: str, _name: str) -> type[_Plain]:
        return _Plain


_RULE_FILES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")
_TRANSCRIPTS = FileOf("a set of transcripts of Claude Code", notes.rows_of_transcripts)
_NOTE = FileOf("a Markdown note", notes.rows_of_notes)
_OF_QDRANT = FileOf("a local Qdrant of mem0", _points)
_PLAIN = FileOf("a list in JSON", _list)
_MARKS = (
    ("mapping", FileOf("an export of ChatGPT", _chatgpt)),
    ("chat_messages", FileOf("an export of Claude.ai", _claude)),
    ("memory", FileOf("an export of mem0", _mem0)),
)
_TABLES = (
    ({"points"}, _OF_QDRANT),
    (
        {"history", "messages"},
        FileOf("the history of mem0, which names no users", _of_table(_HISTORY, _of_history)),
    ),
    ({"store", "store_migrations"}, FileOf("a store of LangGraph", _of_table(_ITEMS, _of_item))),
    (
        {"observation", "entity"},
        FileOf("the index of basic-memory", _of_table(_OBSERVATIONS, _of_observation)),
    ),
)
