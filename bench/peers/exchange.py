"""The folder that both environments read: records, questions and their vectors, for every system.

::

    records.jsonl     id, tenant, text, ord, session, speaker, timestamp
    questions.jsonl   id, tenant, text and, where later records may not be seen, as_of_ord
    records.npy, records.dated.npy, questions.npy     float32, one row a line

Nothing of memory_mesh is imported here: the peers live in an environment without it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

RAW, DATED = "raw", "dated"
FORMS = (RAW, DATED)

Vector: TypeAlias = NDArray[np.float32]
Hit: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Record:
    """What a peer is given to keep."""

    id: str
    text: str
    ord: int
    vector: Vector


@dataclass(frozen=True, slots=True)
class Question:
    """What a peer is asked; with `as_of_ord`, only records of a smaller ord may answer."""

    id: str
    text: str
    vector: Vector
    as_of_ord: int | None = None


@dataclass(frozen=True, slots=True)
class Tenant:
    """One store of its own: nobody else's records are in it."""

    name: str
    records: tuple[Record, ...]
    questions: tuple[Question, ...]


class Peer(Protocol):
    """Another system that holds the records of one tenant."""

    def answer(self, question: Question, k: int) -> list[Hit]:
        """The ids of the best k records and their scores, the best first."""

    def close(self) -> None:
        """Give back what the peer holds."""


# What an adapter module calls `Peer`: it gets a folder of its own, which is empty.
Maker: TypeAlias = Callable[[Sequence[Record], Path], Peer]


def dated(record: Mapping[str, Any]) -> str:
    """The text after its day and speaker, "[8 May 2023] Ann: text", where the record has them."""
    speaker = f"{record['speaker']}: " if record.get("speaker") else ""
    if not record.get("timestamp"):
        return f"{speaker}{record['text']}"
    day = datetime.fromisoformat(record["timestamp"])
    return f"[{day.day} {day:%B %Y}] {speaker}{record['text']}"


def load(folder: Path, form: str) -> list[Tenant]:
    """Every tenant with its records and questions, in the order of the files."""
    records = read_lines(folder / "records.jsonl")
    questions = read_lines(folder / "questions.jsonl")
    record_rows = _rows(folder / _vectors_name(form), len(records))
    question_rows = _rows(folder / "questions.npy", len(questions))
    tenants: dict[str, tuple[list[Record], list[Question]]] = {}
    for line, vector in zip(records, record_rows, strict=True):
        text = line["text"] if form == RAW else dated(line)
        kept = tenants.setdefault(line["tenant"], ([], []))[0]
        kept.append(Record(line["id"], text, line["ord"], vector))
    for line, vector in zip(questions, question_rows, strict=True):
        asked = tenants.setdefault(line["tenant"], ([], []))[1]
        asked.append(Question(line["id"], line["text"], vector, line.get("as_of_ord")))
    return [Tenant(name, tuple(kept), tuple(asked)) for name, (kept, asked) in tenants.items()]


def save(
    folder: Path,
    *,
    records: Sequence[Mapping[str, Any]],
    questions: Sequence[Mapping[str, Any]],
    vectors: Mapping[str, Vector],
) -> None:
    """Write the folder; the vectors by the name of their file without its ending."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("records", records), ("questions", questions)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    for name, rows in vectors.items():
        np.save(folder / f"{name}.npy", rows.astype(np.float32))


def digest(folder: Path, form: str) -> str:
    """One short text for what a form of this folder asks and holds."""
    found = hashlib.sha256()
    for name in ("records.jsonl", "questions.jsonl", _vectors_name(form), "questions.npy"):
        found.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return found.hexdigest()[:16]


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _vectors_name(form: str) -> str:
    return "records.npy" if form == RAW else f"records.{form}.npy"


def _rows(file: Path, expected: int) -> Vector:
    rows: Vector = np.load(file)
    if rows.dtype != np.float32 or len(rows) != expected:
        raise ValueError(
            f"{file.name} has {len(rows)} rows of {rows.dtype}, not {expected} of float32: "
            "make the folder anew with bench.peers.export"
        )
    return rows
