"""Stores rows on disk: one file per tenant during a run, one compressed file afterwards."""

import gzip
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TextIO, fields
from memory_mesh.evaluation.one_question import QuestionResult, RecordNames
from memory_mesh.evaluation.records import EvaluationQuestion, Fields, lines
from memory_mesh.model import InvalidInput, Json, NotFound

ENDING = ".results.jsonl.gz"


def kept(file: Path) -> dict[str, QuestionResult]:
    """Returns the rows of an interrupted run by question; drops an incomplete last line."""
    if not file.is_file():
        return {}
    text = file.read_bytes().decode("utf-8", "replace")  # a line may end within a letter
    rows = dict[str, QuestionResult]()
    for line in text.removesuffix("\n").split("\n"):  # an id may hold another line separator
        try:
            row = _row(json.loads(line))
        except (ValueError, TypeError):
            break
        rows[row.id] = row
    whole = "".join(_line(row) for row in rows.values())
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return rows


def add(opened: TextIO, row: QuestionResult) -> None:
    """Appends one row and syncs it to disk."""
    opened.write(_line(row))
    opened.flush()


def write(
    folder: Path, suite: str, rows: Mapping[str, Mapping[str, Sequence[QuestionResult]]]
) -> Path:
    """Writes all rows of a run to a file named by their digest."""
    text = "".join(
        json.dumps({"system": system, "splits": splits, **_plain(row)}, ensure_ascii=False) + "\n"
        for system, parts in rows.items()
        for row, splits in _with_splits(parts)
    ).encode()
    file = folder / f"{suite}.{hashlib.sha256(text).hexdigest()[:12]}{ENDING}"
    file.write_bytes(gzip.compress(text, mtime=0))
    return file


def read(file: Path) -> dict[str, dict[str, list[QuestionResult]]]:
    """Reads the rows of `write`, by system and split."""
    if not file.is_file():
        raise NotFound(f"there is no file of results {file}")
    found: dict[str, dict[str, list[QuestionResult]]] = {}
    try:
        for line in gzip.decompress(file.read_bytes()).decode().removesuffix("\n").split("\n"):
            values = json.loads(line)
            parts = found.setdefault(values.pop("system"), {})
            splits = values.pop("splits")
            row = _row(values)
            for split in splits:
                parts.setdefault(split, []).append(row)
    except (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError):
        raise InvalidInput(f"{file} does not hold results; they end in {ENDING}") from None
    return found


def ranked(file: Path) -> dict[str, Fields]:
    """Reads another system's rankings by question."""
    if not file.is_file():
        raise NotFound(f"there is no file of rankings {file}")
    return {line.text("id"): line for line in lines(file)}


def added(
    line: Fields, question: EvaluationQuestion, names: RecordNames, limit: int
) -> QuestionResult:
    """Returns the row of a question that another system ranked."""
    listed = line.texts("ranked")
    scores = _numbers(line, "scores")
    if scores and len(scores) != len(listed):
        raise line.wrong("scores must be as many as ranked")
    best: dict[str, float] = {}
    for place, name in enumerate(listed):
        if not names.known(name):
            raise line.wrong(f"ranked: {name!r} is no record of {question.tenant}")
        best.setdefault(names.of(name), scores[place] if scores else 1 / (place + 1))
    ms = _numbers(line, "ms")
    return QuestionResult(
        id=question.id,
        tenant=question.tenant,
        category=question.category,
        gold=names.gold(question),
        stale=names.stale(question),
        ranked=tuple(best),
        scores=tuple(best.values()),
        pool=names.pool,
        limit=line.number("limit") or limit,
        ms=ms[0] if ms else None,
        tokens=line.number("tokens"),
    )


def digest(parts: Iterable[object]) -> str:
    """Returns a digest of the values."""
    return hashlib.sha256(json.dumps([*map(str, parts)]).encode()).hexdigest()[:16]


def _with_splits(
    parts: Mapping[str, Sequence[QuestionResult]],
) -> list[tuple[QuestionResult, list[str]]]:
    """Returns each row once, with its splits."""
    found: dict[str, tuple[QuestionResult, list[str]]] = {}
    for split, rows in parts.items():
        for row in rows:
            found.setdefault(row.id, (row, []))[1].append(split)
    return list(found.values())


def _numbers(line: Fields, name: str) -> tuple[float, ...]:
    found = line.get(name)
    if found is None:
        return ()
    listed: list[object] = found if isinstance(found, list) else [found]
    numbers = [
        float(item)
        for item in listed
        if isinstance(item, int | float) and not isinstance(item, bool)
    ]
    if len(numbers) != len(listed) or not all(map(math.isfinite, numbers)):
        raise line.wrong(f"{name} must be numbers")
    return tuple(numbers)


def _line(row: QuestionResult) -> str:
    return json.dumps(_plain(row), ensure_ascii=False) + "\n"


def _plain(row: QuestionResult) -> dict[str, Json]:
    return {item.name: getattr(row, item.name) for item in fields(QuestionResult)}


def _row(values: object) -> QuestionResult:
    if not isinstance(values, dict):
        raise TypeError
    listed = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return QuestionResult(**{**values, **listed})
