"""The folder that both environments read: records, questions and their vectors, for every system.

::

    records.jsonl     id, tenant, text, ord, session, speaker, timestamp
    questions.jsonl   id, tenant, text and, where later records may not be seen, as_of_ord;
                      where it names speakers of its tenant, the text without them and the speaker
    records.npy, records.dated.npy, questions.npy, questions.helped.npy   float32, one row a line

Three forms: `raw`, `dated`, and `helped`, in which a peer gets what anybody could write around it.

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

RAW, DATED, HELPED = "raw", "dated", "helped"
FORMS = (RAW, DATED, HELPED)
SHORT = 64  # words: a longer turn before adds nothing but noise

Vector: TypeAlias = NDArray[np.float32]
Hit: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Record:
    """What a peer is given to keep."""

    id: str
    text: str
    ord: int
    vector: Vector
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a peer is asked; with `as_of_ord`, only records of a smaller ord may answer.

    With `speaker`, a peer that can filter looks at that speaker's records only.
    """

    id: str
    text: str
    vector: Vector
    as_of_ord: int | None = None
    speaker: str | None = None


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
    return _day(record) + _said(record)


def helped(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The dated texts, each after the turn before it in its session if that one is short."""
    texts = []
    before: Mapping[str, Any] = {}
    for record in records:
        beside = (record["tenant"], record.get("session")) == (
            before.get("tenant"), before.get("session")
        )  # fmt: skip
        near = beside and record.get("session") and len(before["text"].split()) <= SHORT
        texts.append(_day(record) + (f"{_said(before)}\n" if near else "") + _said(record))
        before = record
    return texts


def load(folder: Path, form: str) -> list[Tenant]:
    """Every tenant with its records and questions, in the order of the files."""
    records = read_lines(folder / "records.jsonl")
    questions = read_lines(folder / "questions.jsonl")
    of_records, of_questions = _vector_files(form)
    record_rows = _rows(folder / of_records, len(records))
    question_rows = _rows(folder / of_questions, len(questions))
    tenants: dict[str, tuple[list[Record], list[Question]]] = {}
    for line, text, vector in zip(records, _texts(records, form), record_rows, strict=True):
        kept = tenants.setdefault(line["tenant"], ([], []))[0]
        kept.append(Record(line["id"], text, line["ord"], vector, line.get("speaker")))
    for line, vector in zip(questions, question_rows, strict=True):
        asked = tenants.setdefault(line["tenant"], ([], []))[1]
        asked.append(_question(line, vector, form))
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
    for name in ("records.jsonl", "questions.jsonl", *_vector_files(form)):
        found.update(hashlib.sha256((folder / name).read_bytes()).digest())
    return found.hexdigest()[:16]


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _question(line: Mapping[str, Any], vector: Vector, form: str) -> Question:
    id, before = line["id"], line.get("as_of_ord")
    if form != HELPED:
        return Question(id, line["text"], vector, before)
    return Question(id, line.get("nameless", line["text"]), vector, before, line.get("speaker"))


def _texts(records: Sequence[Mapping[str, Any]], form: str) -> list[str]:
    if form == HELPED:
        return helped(records)
    return [line["text"] if form == RAW else dated(line) for line in records]


def _day(record: Mapping[str, Any]) -> str:
    if not record.get("timestamp"):
        return ""
    day = datetime.fromisoformat(record["timestamp"])
    return f"[{day.day} {day:%B %Y}] "


def _said(record: Mapping[str, Any]) -> str:
    return f"{record['speaker']}: {record['text']}" if record.get("speaker") else record["text"]


def _vector_files(form: str) -> tuple[str, str]:
    """The vectors of records and questions; helped ones compare the turn alone, as it was said."""
    return {
        RAW: ("records.npy", "questions.npy"),
        DATED: ("records.dated.npy", "questions.npy"),
        HELPED: ("records.npy", "questions.helped.npy"),
    }[form]


def _rows(file: Path, expected: int) -> Vector:
    rows: Vector = np.load(file)
    if rows.dtype != np.float32 or len(rows) != expected:
        raise ValueError(
            f"{file.name} has {len(rows)} rows of {rows.dtype}, not {expected} of float32: "
            "make the folder anew with bench.peers.export"
        )
    return rows
