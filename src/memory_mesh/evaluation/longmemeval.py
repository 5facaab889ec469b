"""Reads the official LongMemEval file: a list of questions, each with its own history."""

import json
import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.errors import InvalidInput
from memory_mesh.evaluation.records import DataSet, Fields, Question, Record, digest_of
from memory_mesh.typed import TextIO

_ABSTENTION = "_abs"
_BLOCK = 1 << 20  # characters read at a time: the large file has gigabytes
_DAY = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: \(\w+\))?(?: (\d{2}):(\d{2}))?")


def read(file: Path) -> DataSet:
    """Returns the data set of the file: each question is a tenant, each turn a record."""
    questions = tuple(_unique(_items(file)))
    if not questions:
        raise InvalidInput(f"{file.name} holds no question")
    return DataSet(digest_of(file), questions, lambda wanted: _tenants(file, wanted))


def _unique(items: Iterator[Fields]) -> Iterator[Question]:
    seen: set[str] = set()
    for item in items:
        question = _question(item)
        if question.id in seen:
            raise item.wrong(f"question_id {question.id!r} is there twice")
        seen.add(question.id)
        yield question


def _tenants(file: Path, wanted: Collection[str]) -> Iterator[tuple[str, list[Record]]]:
    for item in _items(file):
        tenant = item.text("question_id")
        if tenant in wanted:
            yield tenant, [record for record, _ in _turns(item, tenant)]


def _question(item: Fields) -> Question:
    id_ = item.text("question_id")
    answered = not id_.endswith(_ABSTENTION)
    gold = tuple(record.id for record, answers in _turns(item, id_) if answers)
    asked = item.text_or_none("question_date")
    return Question(
        id=id_,
        text=item.text("question"),
        tenant=id_,
        category=item.text("question_type"),
        gold=gold if answered else (),
        gold_sessions=item.texts("answer_session_ids") if answered else (),
        asked_at=None if asked is None else _moment(item, "question_date", asked),
    )


def _turns(item: Fields, tenant: str) -> Iterator[tuple[Record, bool]]:
    """Yields every turn of the history, numbered in its session, and whether it answers."""
    names, dates = item.texts("haystack_session_ids"), item.texts("haystack_dates")
    sessions = item.get("haystack_sessions")
    if not isinstance(sessions, list) or len(sessions) != len(names) or len(dates) != len(names):
        raise item.wrong("haystack_sessions must be a list with an id and a date for each session")
    order, seen = 0, dict[str, int]()
    for name, date, session in zip(names, dates, sessions, strict=True):
        if not isinstance(session, list):
            raise item.wrong(f"haystack_sessions: {name} must be a list of turns")
        seen[name] = seen.get(name, 0) + 1
        own = name if seen[name] == 1 else f"{name}#{seen[name]}"  # told again: another session
        at = _moment(item, "haystack_dates", date)
        for number, values in enumerate(session, start=1):
            turn = Fields(values, f"session {own}, turn {number}")
            record = Record(
                id=f"{own}_{number}",
                text=turn.text("content"),
                tenant=tenant,
                session=own,
                order=order,
                speaker=turn.text("role"),
                occurred_at=at,
            )
            yield record, turn.flag("has_answer")
            order += 1


def _moment(item: Fields, name: str, date: str) -> datetime:
    found = _DAY.fullmatch(date.strip())
    try:
        if found is not None:
            year, month, day, hour, minute = (int(part or 0) for part in found.groups())
            return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        pass
    raise item.wrong(f"{name} must be a date such as 2023/05/20 (Sat) 02:21, not {date!r}")


def _items(file: Path) -> Iterator[Fields]:
    """Yields the objects of the file's list; only one is in memory at a time."""
    with file.open(encoding="utf-8-sig") as opened:
        try:
            for number, values in enumerate(_listed(opened), start=1):
                yield Fields(values, f"{file.name}, question {number}")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{file.name} is not UTF-8 text: {error}") from None
        except _Broken as error:
            raise InvalidInput(f"{file.name} must be a JSON list of questions: {error}") from None


class _Broken(ValueError):
    """The text is not a list of JSON values."""


def _listed(opened: TextIO) -> Iterator[object]:
    decoder = json.JSONDecoder()
    text = opened.read(_BLOCK).lstrip()
    if not text.startswith("["):
        raise _Broken("it does not begin with [")
    text, step = text[1:].lstrip(), _BLOCK
    while True:
        if text.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
            if not text:
                text = opened.read(_BLOCK).lstrip()
            if not text.startswith((",", "]")):
                raise _Broken("there is no comma between two of them")
        except (json.JSONDecodeError, RecursionError) as error:
            more = opened.read(step)
            if not more:
                raise _Broken(str(error)) from None
            text, step = text + more, 2 * step  # an object longer than that: try again, less often
            continue
        yield value
        text = text.removeprefix(",").lstrip()
        step = _BLOCK
