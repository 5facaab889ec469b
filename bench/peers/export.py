"""Make the folder that the peers read: tenants of a retrieval set, with one vector for each text.

Runs in the environment of the project, with the model in MEMORY_MESH_MODEL_DIR:

    python -m bench.peers.export --data DATA/locomo --split conv-26 conv-30 \
        --vectors VECTORS.db --out FOLDER

Only the tenants named are exported, and of their questions neither the evidence nor the answers. Of
a text with several windows the first vector stands for it; a record without text is left out. A
question that names speakers of its tenant is also written without their names and, if it names
exactly one, with that speaker.
"""

import argparse
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers import exchange
from bench.peers.exchange import Vector
from memory_mesh.evaluation.vector_cache import KeptVectors
from memory_mesh.model.ports import Embedder
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.text import question as asked_about

_RECORD = ("id", "tenant", "text", "ord", "session", "speaker", "timestamp")
_QUESTION = ("id", "tenant", "text", "as_of_ord")
_BATCH = 128


def main(arguments: Sequence[str] | None = None) -> int:
    """Export what the options name."""
    options = _options(arguments)
    model = os.environ.get("MEMORY_MESH_MODEL_DIR")
    if not model:
        print("set MEMORY_MESH_MODEL_DIR to the folder of the model", file=sys.stderr)
        return 1
    embedder = KeptVectors(OnnxEmbedder(Path(model)), options.vectors)
    try:
        export(options.data, options.split, out=options.out, embedder=embedder)
    finally:
        embedder.release()
    return 0


def export(data: Path, tenants: Sequence[str], *, out: Path, embedder: Embedder) -> None:
    """Write the records and questions of these tenants with the vectors of every form."""
    records = [line for line in _chosen(data / "corpus.jsonl", tenants, _RECORD) if line["text"]]
    questions = list(_chosen(data / "queries.jsonl", tenants, _QUESTION))
    missing = set(tenants) - {line["tenant"] for line in records}
    if missing:
        raise ValueError(f"{data} has no records of {', '.join(sorted(missing))}")
    speakers: dict[str, set[str]] = {}
    for line in records:
        speakers.setdefault(line["tenant"], set()).add(line.get("speaker") or "")
    questions = [_named(line, speakers.get(line["tenant"], ())) for line in questions]
    raw = [line["text"] for line in records]
    asked = [line["text"] for line in questions]
    nameless = [line.get("nameless", line["text"]) for line in questions]
    vectors = {
        "records": _embed(embedder, raw),
        "records.dated": _embed(embedder, [exchange.dated(line) for line in records]),
        "questions": _embed(embedder, asked, query=True),
        "questions.helped": _embed(embedder, nameless, query=True),
    }
    exchange.save(out, records=records, questions=questions, vectors=vectors)


def _chosen(file: Path, tenants: Sequence[str], keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    wanted = frozenset(tenants)
    for line in exchange.read_lines(file):
        if line["tenant"] in wanted:
            yield _only(line, keys)


def _named(line: Mapping[str, Any], speakers: Collection[str]) -> dict[str, Any]:
    """The question, without the speakers that it names, and the speaker if it names one."""
    words = set(asked_about.words(line["text"]))
    names = sorted(speaker for speaker in speakers if speaker in words)
    if not names:
        return dict(line)
    read = asked_about.read(line["text"], names, datetime.now(UTC))
    only = {"speaker": names[0]} if len(names) == 1 else {}
    return {**line, "nameless": read.text, **only}


def _only(line: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: line[key] for key in keys if key in line}


def _embed(embedder: Embedder, texts: Sequence[str], *, query: bool = False) -> Vector:
    rows = []
    for at in range(0, len(texts), _BATCH):
        found = embedder.embed(texts[at : at + _BATCH], query=query).vectors
        rows += [np.frombuffer(windows[0], dtype="<f4") for windows in found]
        if sys.stderr.isatty():
            print(f"\r\033[K{len(rows)} of {len(texts)} texts", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return np.stack(rows).astype(np.float32)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.peers.export", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="corpus.jsonl and queries.jsonl")
    parser.add_argument("--split", nargs="+", required=True, help="the tenants to export")
    parser.add_argument("--vectors", type=Path, required=True, help="where vectors are kept")
    parser.add_argument("--out", type=Path, required=True, help="the folder to make")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
