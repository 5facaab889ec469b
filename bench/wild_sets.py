"""Write the wild sets in the neutral form that `memory-mesh eval` reads, at three store sizes.

    python -m bench.wild_sets --out FOLDER

`bench/sets/wild` holds what authors wrote: short notes, personal facts, documents, and distractors.
FOLDER gets `notes`, `personal` and `documents`, each with corpus.jsonl and queries.jsonl. A tenant
is one store of one part: 20 memories that belong together, 200, or 5,000 with distractors.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "sets" / "wild"
SETS = ("notes", "personal", "documents")
PARTS = ("dev", "test", "more_a", "more_b")  # `more` trains and is not reported
SMALL, MIDDLE, LARGE = 20, 200, 5_000

Line = dict[str, Any]


def main() -> int:
    """Write all three sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for name in SETS:
        memories, questions = build(name, options.out)
        print(f"{name}: {memories} memories, {questions} questions")
    return 0


def build(name: str, out: Path) -> tuple[int, int]:
    """Write one set; return how many memories and questions it has."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    corpus, queries = list[Line](), list[Line]()
    for part in PARTS:
        if not (HERE / name / part).is_dir():
            continue
        read = _documents if name == "documents" else _short
        for tenant, memories, questions in read(HERE / name / part, part):
            corpus += ({**memory, "tenant": tenant} for memory in _numbered(tenant, memories))
            queries += (_asked(tenant, question) for question in questions)
    _write(folder / "corpus.jsonl", corpus)
    _write(folder / "queries.jsonl", queries)
    return len(corpus), len(queries)


def _short(folder: Path, part: str) -> Iterator[tuple[str, list[Line], list[Line]]]:
    """The stores of short memories: each group alone, all of them, all among distractors."""
    memories, questions = _read(folder / "memories.jsonl"), _read(folder / "questions.jsonl")
    for group in sorted({memory["group"] for memory in memories}):
        yield (
            f"{part}-{SMALL}-{group}",
            [memory for memory in memories if memory["group"] == group],
            [question for question in questions if question["group"] == group],
        )
    for size in (MIDDLE, LARGE):
        yield f"{part}-{size}", _filled(memories, size), questions


def _documents(folder: Path, part: str) -> Iterator[tuple[str, list[Line], list[Line]]]:
    """The stores of documents, one memory a file, as `ingest-dir` stores them."""
    files = sorted(path for path in (folder / "files").rglob("*") if path.is_file())
    memories = [
        {"id": path.relative_to(folder / "files").as_posix(), "text": path.read_text("utf-8")}
        for path in files
    ]
    questions = [
        {**question, "gold": [question["file"]] if question["file"] else []}
        for question in _read(folder / "questions.jsonl")
    ]
    few = memories[:SMALL]
    held = {memory["id"] for memory in few}
    yield f"{part}-{SMALL}", few, [one for one in questions if held.issuperset(one["gold"])]
    for size in (MIDDLE, LARGE):
        yield f"{part}-{size}", _filled(memories, size), questions


def _filled(memories: Sequence[Line], size: int) -> list[Line]:
    """The memories among so many distractors that they are `size` together, evenly spread."""
    at = {place * size // len(memories): one for place, one in enumerate(memories)}
    rest = iter(_read(HERE / "distractors.jsonl"))
    return [at[place] if place in at else next(rest) for place in range(size)]


def _numbered(tenant: str, memories: Iterable[Line]) -> Iterator[Line]:
    for order, memory in enumerate(memories):
        yield {"id": f"{tenant}/{memory['id']}", "text": memory["text"], "ord": order}


def _asked(tenant: str, question: Line) -> Line:
    before = question.get("previous")
    return {
        "id": f"{tenant}/{question['id']}",
        "tenant": tenant,
        "text": f"{before}\n{question['text']}" if before else question["text"],
        "category": f"{tenant.split('-')[1]} {question['type']}",  # the size, then the kind
        "gold": [f"{tenant}/{id_}" for id_ in question["gold"]],
        "stale": [f"{tenant}/{id_}" for id_ in question.get("stale", ())],
        "answer": question.get("answer") or None,
        "question_date": None,
    }


def _read(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _write(file: Path, lines: Iterable[Line]) -> None:
    with file.open("w", encoding="utf-8") as opened:
        for line in lines:
            opened.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
