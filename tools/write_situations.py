"""Write what a write says: tests/golden/writes.json, examples in docs/reference/answers.md.

    python tools/write_situations.py            run all situations and write both files
    python tools/write_situations.py --check    exit 1 when a written one is not what this makes

Each situation runs on a store of its own. Ids are numbered in order of appearance and placeholders
lose their digits, so that the same code writes the same files.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memory_mesh.cli.main import run
from memory_mesh.cli.output import line_of
from memory_mesh.model import Json, Outcome, Receipt, SkillReceipt, record
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.situations import SITUATIONS, Situation  # noqa: E402  # found from the root

GOLDEN, DOCUMENT = ROOT / "tests/golden/writes.json", ROOT / "docs/reference/answers.md"
_ID = re.compile(r"(mem|skill|conflict|reflect)_\d{6,}_[0-9a-f]{6}")
_MARK = re.compile(r"(?<=[A-Z])_[0-9a-f]{12}(?=\])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_SHOWN = (
    "superseded", "newer_than", "merged_into", "added", "for_review", "redacted", "vector_pending",
)  # fmt: skip
BEGIN, END = "<!-- receipts: begin -->", "<!-- receipts: end -->"
EXAMPLES = (  # what the page shows; the golden file has every situation
    "a new text",
    "the same text again",
    "the same text with another value of a metadata key",
    "a password",
    "a contradiction, stated as a claim",
    "a contradiction, read from plain text",
    "a contradiction from a less trusted source",
    "a lesson from an agent",
    "a repeated idempotency key",
    "a text that is too long",
    "an agent pins a memory",
    "a rejected text comes back",
    "an embedder that fails",
    "`delete`",
)


def main() -> int:
    """Write both files, or with --check compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    checking = parser.parse_args().check
    logging.getLogger("memory_mesh").addHandler(logging.NullHandler())  # a failing embedder warns
    made = {situation.title: outcome(situation) for situation in SITUATIONS}
    files = {GOLDEN: json.dumps(made, indent=1, ensure_ascii=False) + "\n", DOCUMENT: page(made)}
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if not checking:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        stale = []
    for each in stale:
        print(f"{each} is out of date: python tools/write_situations.py", file=sys.stderr)
    print(f"{len(made)} situations say what their golden file has")
    return 1 if stale else 0


def outcome(situation: Situation) -> dict[str, Json]:
    """What one situation gives: fields, reasons and lines."""
    with _store(situation) as (mesh, folder):
        known = situation.before(mesh)
        words = [word.replace("{id}", known or "") for word in situation.command]
        found: dict[str, Json] = {"receipt": {}, "lines": []}
        if situation.write is not None:
            receipt = situation.write(mesh)
            found = {"receipt": _fields(receipt), "lines": [*lines(receipt)]}
        mesh.close()
        if words:
            found["lines"] = [*_ran(words, folder, situation)]
    plain: dict[str, Json] = json.loads(_steady(json.dumps(found, ensure_ascii=False)))
    return plain


def lines(receipt: Receipt | SkillReceipt) -> Iterator[str]:
    """What `memory-mesh store` or `ingest-skill` prints of a receipt, in a pipe."""
    if isinstance(receipt, SkillReceipt):
        yield f"out: [MemoryMesh] Ingested skill {receipt.skill.name} ({receipt.id})"
    elif receipt.outcome is Outcome.REFUSED:
        yield f"err: [MemoryMesh Error] {'; '.join(receipt.reasons)}"
        return
    else:
        yield f"out: [MemoryMesh] Ingested record {receipt.id}"
    yield from (f"err: {line_of(reason)}" for reason in receipt.reasons if reason != "stored")


def page(made: dict[str, dict[str, Json]]) -> str:
    """The document, with the examples of what the situations gave."""
    rows = ["| situation | receipt | `memory-mesh` |", "|---|---|---|"]
    for title in EXAMPLES:
        found = made[title]
        receipt, said = found["receipt"], found["lines"]
        assert isinstance(receipt, dict)  # noqa: S101  # as `outcome` makes it
        assert isinstance(said, list)  # noqa: S101
        reasons = receipt.get("reasons", [])
        assert isinstance(reasons, list)  # noqa: S101
        fields = [f"{name}={value}" for name, value in receipt.items() if name != "reasons"]
        cells = (
            title,
            "<br>".join([f"`{'`, `'.join(fields)}`" if fields else "", *map(_cell, reasons)]),
            "<br>".join(map(_cell, said)),
        )
        rows.append(f"| {' | '.join(cells)} |")
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n" + "\n".join(rows) + f"\n{END}{after}"


@contextlib.contextmanager
def _store(situation: Situation) -> Iterator[tuple[MemoryMesh, str]]:
    with tempfile.TemporaryDirectory() as folder:
        made = MemoryMesh(
            db_dir=folder,
            clock=None if situation.command else FrozenClock(),  # a command has the system's
            redact=situation.redact,
            embedder="none",
            custom_embedder=situation.embedder,
        )
        with made as mesh:
            yield mesh, folder


def _ran(words: list[str], folder: str, situation: Situation) -> Iterator[str]:
    """The lines of a command, each with the stream it went to."""
    out, err = io.StringIO(), io.StringIO()
    settings = {"MEMORY_MESH_DIR": folder, "MEMORY_MESH_EMBEDDER": "none"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    for name, text in situation.files.items():
        Path(folder, name).write_text(text, encoding="utf-8")
    words = [word.replace("{folder}", folder) for word in words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run([*words, "--project", ""])
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    yield from (f"out: {line}" for line in out.getvalue().splitlines())
    yield from (f"err: {line}" for line in err.getvalue().splitlines())


def _fields(receipt: Receipt | SkillReceipt) -> dict[str, Json]:
    if isinstance(receipt, SkillReceipt):
        plain: dict[str, Json] = {"outcome": receipt.outcome}
        plain |= {"redacted": dict(receipt.redacted)} if receipt.redacted else {}
        return plain | {"reasons": list(receipt.reasons)}
    every = record.record(receipt)
    found: dict[str, Json] = {"outcome": every["outcome"]}
    found |= {name: every[name] for name in _SHOWN if every[name]}
    return found | {"reasons": every["reasons"]}


def _steady(text: str) -> str:
    """The text without what differs from run to run."""
    names: dict[str, str] = {}
    for match in _ID.finditer(text):
        names.setdefault(match[0], f"{match[1]}_{len(names) + 1}")
    text = _ID.sub(lambda match: names[match[0]], text)
    return _TIME.sub(lambda match: match[0][:10], _MARK.sub("_…", text))


def _cell(line: object) -> str:
    shown = str(line).replace("|", "\\|").replace("<", "&lt;")
    return shown.replace("[", "\\[")


if __name__ == "__main__":
    sys.exit(main())
