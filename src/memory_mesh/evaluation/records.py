"""What a set consists of: records to store and questions to ask, read from neutral JSON lines."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import InvalidInput, NotFound

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
FIELDS: Mapping[str, str] = {
    "id": "id",
    "tenant": "tenant",
    "session": "session",
    "order": "ord",
    "text": "text",
    "speaker": "speaker",
    "occurred_at": "timestamp",
    "scope": "scope",
    "tags": "aliases",
    "pinned": "pinned",
    "type": "type",
    "superseded_by": "superseded_by",
    "status": "status",
}
_ASKED = (  # fields of a question
    "id", "text", "tenant", "category", "gold", "gold_sessions", "stale", "as_of_ord",
    "question_date", "scope",
)  # fmt: skip
_MISSPELT = 0.8  # how much of a key is that of another: "golds" and "gold", not "topic" and "scope"
ONE_TENANT = "all"  # of a set that names none


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One thing that was said or noted, and its circumstances."""

    id: str
    text: str
    tenant: str = ONE_TENANT
    session: str | None = None
    order: int | None = None
    speaker: str | None = None
    occurred_at: datetime | None = None
    scopes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pinned: bool = False
    type: str | None = None
    superseded_by: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationQuestion:
    """A question and the records that answer it; none means that there is no answer."""

    id: str
    text: str
    tenant: str = ONE_TENANT
    category: str = ""
    gold: tuple[str, ...] = ()
    gold_sessions: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    as_of_order: int | None = None
    asked_at: datetime | None = None  # what "yesterday" is counted from
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DataSet:
    """The questions of a set, and its records one tenant at a time; the digest is of its bytes."""

    digest: str
    questions: tuple[EvaluationQuestion, ...]
    tenants: Callable[[Collection[str]], Iterator[tuple[str, list[EvaluationRecord]]]]


def read(folder: Path, names: Mapping[str, str] | None = None) -> DataSet:
    """The set in a folder; `names` says how its records call the fields of ours."""
    corpus, queries = folder / CORPUS, folder / QUERIES
    for file in (corpus, queries):
        if not file.is_file():
            raise NotFound(
                f"there is no file {file}; a set is a folder with {CORPUS} and {QUERIES}"
            )
    called = {**FIELDS, **(names or {})}
    return DataSet(
        digest_of(corpus, queries),
        tuple(_unique(_questions(queries), queries)),
        lambda wanted: _tenants(corpus, called, wanted),
    )


def digest_of(*files: Path) -> str:
    """SHA-256 over the files' contents."""
    whole = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            whole.update(hashlib.file_digest(opened, "sha256").digest())
    return whole.hexdigest()


class Fields:
    """One JSON object and where it stands; what does not fit is an error that names both."""

    def __init__(self, values: object, place: str) -> None:
        self._place = place
        if not isinstance(values, dict):
            raise self.wrong("the line must be a JSON object")
        self._values: Mapping[str, object] = values

    def wrong(self, what: str) -> InvalidInput:
        """The error that says where something is wrong."""
        return InvalidInput(f"{self._place}: {what}")

    def get(self, name: str) -> object:
        """The value as it came."""
        return self._values.get(name)

    def refuse_misspelt(self, known: tuple[str, ...]) -> None:
        """Refuse a key that nearly is one of ours; others are allowed, and not read."""
        for name in self._values:
            meant = None if name in known else _meant(name, known)
            if meant is not None and meant not in self._values:
                raise self.wrong(
                    f"there is no {name!r}; did you mean {meant}? Read: {', '.join(known)}"
                )

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self.get(name)
        if not isinstance(value, str):
            raise self.wrong(f"{name} must be a text, not {_shown(value)}")
        return self._unicode(name, value)

    def text_or_none(self, name: str) -> str | None:
        """A text, if one is there."""
        return None if self.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, if one is there; a single text is a list of one."""
        value = self.get(name)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise self.wrong(f"{name} must be a list of texts, not {_shown(value)}")
        return tuple(self._unicode(name, item) for item in listed)

    def number(self, name: str) -> int | None:
        """A whole number, if one is there."""
        value = self.get(name)
        if value is None or type(value) is int:
            return value
        raise self.wrong(f"{name} must be a whole number, not {_shown(value)}")

    def flag(self, name: str) -> bool:
        """True or false; false where nothing is said."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(f"{name} must be true or false, not {_shown(value)}")

    def moment(self, name: str) -> datetime | None:
        """A time, if one is there; without a zone it is UTC."""
        value = self.text_or_none(name)
        if value is None:
            return None
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            raise self.wrong(f"{name} must be an ISO 8601 time, not {_shown(value)}") from None
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed

    def _unicode(self, name: str, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self.wrong(f"{name} holds half a character: {_shown(value)}") from None
        return value


def lines(file: Path) -> Iterator[Fields]:
    """The objects of a JSON lines file, one at a time; blank lines are passed over."""
    with file.open("rb") as opened:
        for number, line in enumerate(opened, start=1):
            if not line.strip():
                continue
            place = f"{file.name}, line {number}"
            try:
                values = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"{place}: no JSON: {error}") from None
            yield Fields(values, place)


def _tenants(
    file: Path, called: Mapping[str, str], wanted: Collection[str]
) -> Iterator[tuple[str, list[EvaluationRecord]]]:
    found: dict[str, list[EvaluationRecord]] = {}
    seen: set[tuple[str, str]] = set()
    for line in lines(file):
        tenant = line.text_or_none(called["tenant"]) or ONE_TENANT
        if tenant not in wanted:
            continue
        record = _record(line, called, tenant)
        if (tenant, record.id) in seen:
            raise line.wrong(f"{called['id']} {record.id!r} is there twice")
        seen.add((tenant, record.id))
        found.setdefault(tenant, []).append(record)
    yield from found.items()


def _record(line: Fields, called: Mapping[str, str], tenant: str) -> EvaluationRecord:
    line.refuse_misspelt(tuple(called.values()))
    return EvaluationRecord(
        id=line.text(called["id"]),
        text=line.text(called["text"]),
        tenant=tenant,
        session=line.text_or_none(called["session"]),
        order=line.number(called["order"]),
        speaker=line.text_or_none(called["speaker"]),
        occurred_at=line.moment(called["occurred_at"]),
        scopes=line.texts(called["scope"]),
        tags=line.texts(called["tags"]),
        pinned=line.flag(called["pinned"]),
        type=line.text_or_none(called["type"]),
        superseded_by=line.text_or_none(called["superseded_by"]),
        status=line.text_or_none(called["status"]),
    )


def _questions(file: Path) -> Iterator[tuple[EvaluationQuestion, Fields]]:
    for line in lines(file):
        line.refuse_misspelt(_ASKED)
        question = EvaluationQuestion(
            id=line.text("id"),
            text=line.text("text"),
            tenant=line.text_or_none("tenant") or ONE_TENANT,
            category=line.text_or_none("category") or "",
            gold=line.texts("gold"),
            gold_sessions=line.texts("gold_sessions"),
            stale=line.texts("stale"),
            as_of_order=line.number("as_of_ord"),
            asked_at=line.moment("question_date"),
            scopes=line.texts("scope"),
        )
        yield question, line


def _unique(
    found: Iterator[tuple[EvaluationQuestion, Fields]], file: Path
) -> Iterator[EvaluationQuestion]:
    seen: set[str] = set()
    for question, line in found:
        if question.id in seen:
            raise line.wrong(f"id {question.id!r} is there twice")
        seen.add(question.id)
        yield question
    if not seen:
        raise InvalidInput(f"{file.name} holds no question")


@cache
def _meant(name: str, known: tuple[str, ...]) -> str | None:
    return next(iter(get_close_matches(name.casefold(), known, 1, _MISSPELT)), None)


def _shown(value: object) -> str:
    return repr(value)[:60]
