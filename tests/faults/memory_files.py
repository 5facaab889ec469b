"""Memory files under any text: what is written reads back, names stay in their folder."""

import os
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from memory_mesh.formats.documents import SEPARATOR, open_fences
from memory_mesh.formats.file_names import file_name, safe_path, slug
from memory_mesh.formats.memory_file import (
    IMPORTANCES,
    MemoryFile,
    append,
    parse,
    render,
    replace_document,
    wiki_links,
)
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput
from tests.faults.hostile import TEXTS, hostile_texts, hostile_titles
from tests.faults.report import Progress, Report, Ticker, silent

_PIECES = (
    "---", "---\n", "\n\n---\n\n", "```", "```ts\n", "~~~", "````", "title: x", "# Heading", "\n",
    "\n\n", " ", "  ", "\t", "\r\n", "\r", ": ", "- a", "> q", "<!-- end of 01234567 -->", "yes",
    "2026-01-23", "12:30:45", "word", "naïve", "日本", "\u2028", "\x85", "\ufeff", "😀", "\x00",
    '"', "'", "\\", "{", "[", "&a", "*a", "!t", "%", "@", "|", "#tag", "[[Link]]", "null", "0x1F",
)  # fmt: skip


def round_trips(*, documents: int, seed: int, progress: Progress = silent) -> Report:
    """parse(render(x)) == x: alone, appended to others, with other line ends, after a change."""
    report, rng = Report({"documents": 0, "round trips": 0}), random.Random(seed)
    ticker = Ticker(progress, documents)
    before = drawn(rng)
    for number in range(documents):
        document = drawn(rng)
        for way, broken in _WAYS.items():
            report.count("round trips")
            if broken(document, before):
                report.broken(way, repr(document))
        report.count("documents")
        report.count("ended by a mark", "bodyEnd:" in render(document))
        before = document
        ticker.tick(number + 1)
    return report


def hostile_strings(*, count: int, seed: int) -> Report:
    """A hostile string comes back from every field, and parses as a whole file."""
    report = Report({"strings": 0, "fields": 0})
    for text in hostile_texts(count, seed):
        report.count("strings")
        for field, document in _placed(text).items():
            report.count("fields")
            if parse(render(document)).documents != (document,):
                report.broken("changed", f"{field}: {text[:200]!r}")
        _read_whole(text, report)
    return report


def mutated(*, count: int, seed: int) -> Report:
    """Files with random damage: nothing raises, and a change touches one document only."""
    report, rng = Report({"files": 0, "changes": 0}), random.Random(seed)
    for _ in range(count):
        report.count("files")
        text = _damaged(rng)
        read = parse(text, name="n").documents
        if read:
            _change_one(text, rng.randrange(len(read)), read, rng, report)
    return report


def hostile_names(folder: Path, *, count: int, seed: int) -> Report:
    """No title and no path leads out of the folder: each is really written, or refused."""
    report = Report({"titles": 0, "paths taken": 0, "paths refused": 0})
    inside = folder / "vault" / "memories"
    inside.mkdir(parents=True)
    (folder / "vault" / "outside.md").write_text("not ours")
    for title in hostile_titles(count, seed):
        report.count("titles")
        name = file_name(title, [path.name for path in inside.iterdir()])
        _check_name(name, title, report)
        _write(inside, name, report)
        _try_path(inside, title, report)
    left = sorted(path.name for path in (folder / "vault").iterdir())
    if left != ["memories", "outside.md"] or len(list(folder.iterdir())) != 1:
        report.broken("left the folder", repr(left))
    return report


def linear(*, size: int) -> Report:
    """Four times the text costs about four times the calls, for texts made to be expensive."""
    report = Report({"shapes": 0})
    for name, shape in SHAPES.items():
        report.count("shapes")
        small, large = (_calls(shape(count)) for count in (size, 4 * size))
        if large > 4.5 * small + 2_000:
            report.broken("not linear", f"{name}: {small} calls, then {large}")
    return report


def drawn(rng: random.Random) -> MemoryFile:
    """A document of random fields and a body that is often made to confuse a reader."""
    return MemoryFile(
        title=_text(rng, 6),
        when_to_use=_texts(rng),
        tags=_texts(rng),
        importance=rng.choice(IMPORTANCES),
        discovered_at=rng.choice([None, "2026-01-23T10:30:00Z", _text(rng, 3)]),
        discovered_by=rng.choice([None, "planner", _text(rng, 3)]),
        discovered_in=rng.choice([None, "Task: Login", _text(rng, 3)]),
        source=rng.choice([None, "src/auth.py", _text(rng, 3)]),
        related=_texts(rng),
        body=_text(rng, rng.choice([0, 3, 10, 60])),
        more={f"k{_text(rng, 2)}": _json(rng, 3) for _ in range(rng.randrange(4))},
        memory_id=rng.choice([None, "mem_1763000000000_0a1b2c3d", _text(rng, 2)]),
    )


def _text(rng: random.Random, pieces: int) -> str:
    return "".join(rng.choice(_PIECES) for _ in range(rng.randint(0, pieces)))


def _texts(rng: random.Random) -> tuple[str, ...]:
    return tuple(_text(rng, 4) for _ in range(rng.randrange(4)))


def _json(rng: random.Random, depth: int) -> Json:
    kind = rng.randrange(8 if depth else 6)
    if kind == 7:
        return {_text(rng, 2): _json(rng, depth - 1) for _ in range(rng.randrange(3))}
    if kind == 6:
        return [_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    plain: list[Json] = [None, True, False, rng.randint(-(10**12), 10**12), rng.uniform(-1e9, 1e9)]
    return plain[kind] if kind < len(plain) else _text(rng, 4)


def _alone(document: MemoryFile, _before: MemoryFile) -> bool:
    read = parse(render(document))
    return read.documents != (document,) or read.documents[0].raw != render(document)


def _appended(document: MemoryFile, before: MemoryFile) -> bool:
    first = render(before)
    text = append(append(first, document), before)
    return parse(text).documents != (before, document, before) or not text.startswith(first)


def _other_line_ends(document: MemoryFile, before: MemoryFile) -> bool:
    text = "\ufeff" + append(render(before), document).replace("\n", "\r\n")
    return parse(text).documents != (before, document)


def _changed(document: MemoryFile, before: MemoryFile) -> bool:
    """One document of three is replaced; the bytes around it stay."""
    text = append(append(render(before), before), document)
    old = parse(text).documents[1]
    new = replace_document(text, 1, document)
    kept = new.startswith(text[: old.start]) and new.endswith(text[old.stop :])
    return not kept or parse(new).documents != (before, document, document)


def _edited(document: MemoryFile, before: MemoryFile) -> bool:
    """Only the body is replaced; the frontmatter keeps its bytes."""
    text = render(before).replace("---\n", "---\n# a comment\n", 1)
    new = replace_document(text, 0, replace(before, body=document.body))
    return parse(new).documents != (replace(before, body=document.body),)


_WAYS: dict[str, Callable[[MemoryFile, MemoryFile], bool]] = {
    "alone": _alone,
    "appended": _appended,
    "other line ends": _other_line_ends,
    "changed": _changed,
    "edited": _edited,
}


def _placed(text: str) -> dict[str, MemoryFile]:
    """The text in every field that takes one."""
    plain = MemoryFile(title="t", body="b")
    return {
        "title": replace(plain, title=text),
        "whenToUse": replace(plain, when_to_use=(text, text)),
        "tags": replace(plain, tags=(text,)),
        "discoveredAt": replace(plain, discovered_at=text),
        "discoveredBy": replace(plain, discovered_by=text),
        "discoveredIn": replace(plain, discovered_in=text),
        "source": replace(plain, source=text),
        "relatedMemories": replace(plain, related=(text,)),
        "memoryId": replace(plain, memory_id=text),
        "more": replace(plain, more={"x": {"y": [text]}, "z": text}),
        "key": replace(plain, more={f"k{text}": 1}),
        "body": replace(plain, body=text),
    }


def _read_whole(text: str, report: Report) -> None:
    """Any text is a file: its documents lie in it, in order, and something can be appended."""
    end = 0
    for document in parse(text, name="name").documents:
        if document.start < end or text[document.start : document.stop] != document.raw:
            report.broken("misplaced", repr(text[:200]))
        end = document.stop
    added = MemoryFile(title="added", body="```\ncode\n```")
    try:
        read = parse(append(text, added)).documents
    except InvalidInput:
        report.count("refused: an earlier document has no end")
        if not open_fences(text):
            report.broken("refused for nothing", repr(text[:1_000]))
    else:
        if not read or read[-1] != added:
            report.broken("swallowed", repr(text[:200]))
    wiki_links(text)


def _damaged(rng: random.Random) -> str:
    """One to three documents in a file, with pieces put in and cut out anywhere."""
    text = SEPARATOR.join(render(drawn(rng)) for _ in range(rng.randint(1, 3)))
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(text) + 1)
        put = rng.choice([*_PIECES, *TEXTS])[:300] if rng.random() < 0.7 else ""
        text = text[:at] + put + text[at + (0 if put else rng.randint(1, 40)) :]
    return text.replace("\n", "\r\n") if rng.random() < 0.2 else text


def _change_one(
    text: str, index: int, read: Sequence[MemoryFile], rng: random.Random, report: Report
) -> None:
    old = read[index]
    new = rng.choice([drawn(rng), replace(old, body=_text(rng, 20)), replace(old, tags=("q",))])
    try:
        out = replace_document(text, index, new, name="n")
    except InvalidInput:
        if not old.readable:  # the mirror leaves such a document alone
            report.count("refused: it cannot be read")
            return
        report.count("refused: an earlier document has no end")
        if not open_fences(text) and "bodyEnd" not in text:
            report.broken("refused for nothing", repr(text[:1_000]))
        return
    report.count("changes")
    after = parse(out, name="n").documents
    kept = [document.raw for document in (*read[:index], *read[index + 1 :])]
    others = [document.raw for document in (*after[:index], *after[index + 1 :])]
    around = out.startswith(text[: old.start]) and out.endswith(text[old.stop :])
    if after[index] != new or kept != others or not around:
        report.broken("changed another", repr(text[:1_000]))


def _check_name(name: str, title: str, report: Report) -> None:
    stem = slug(title)
    shape = stem == stem.strip("-. ") and "--" not in stem and 0 < len(stem) <= 80
    if not shape or len(name.encode()) > 255 or stem.casefold() != stem:
        report.broken("not kebab-case", repr((title, name)))


def _write(inside: Path, name: str, report: Report) -> None:
    path = Path(safe_path(str(inside), name))
    before = len(list(inside.iterdir()))
    path.write_text("x")
    if path.resolve().parent != inside.resolve() or len(list(inside.iterdir())) != before + 1:
        report.broken("left the folder", repr(name))


def _try_path(inside: Path, path: str, report: Report) -> None:
    for tried in (path, f"{path}.md", f"notes/{path}", f"../{path}", f"{path}/../../x.md"):
        try:
            found = safe_path(str(inside), tried)
        except InvalidInput:
            report.count("paths refused")
            continue
        report.count("paths taken")
        real = os.path.realpath(found.replace("\0", ""))
        if os.path.commonpath([real, inside.resolve()]) != str(inside.resolve()):
            report.broken("left the folder", repr(tried))


_SMALL = "---\ntitle: x\n---\n\nb\n"
_BETWEEN = "\n\n---\n\n"
SHAPES: dict[str, Callable[[int], str]] = {
    "rules": lambda size: "---\n" * size,
    "rules and blank lines": lambda size: "---\n\n" * size,
    "tiny documents": lambda size: _BETWEEN.join([_SMALL] * size),
    "documents never closed": lambda size: _BETWEEN.join(["---\ntitle: x\n"] * size),
    "invalid documents": lambda size: _BETWEEN.join(["---\ntitle: [\n---\n"] * size),
    "fences never closed": lambda size: _BETWEEN.join([f"{_SMALL}```a\n"] * size),
    "fences of two kinds": lambda size: _BETWEEN.join([f"{_SMALL}```a\n~~~\n````\n"] * size),
    "ends that are missing": lambda size: _BETWEEN.join(
        ["---\ntitle: x\nbodyEnd: 12345678\n---\n\nb\n"] * size
    ),
    "one end for all": lambda size: (
        _BETWEEN.join(["---\ntitle: x\nbodyEnd: 12345678\n---\n\nb\n"] * size)
        + "\n<!-- end of 12345678 -->\n"
    ),
    "comments": lambda size: "---\n# c\n\n" * size,
    "one key again and again": lambda size: "---\ntitle: x\n" + "a: 1\n" * size + "---\n",
    "a deep list": lambda size: "---\ntitle: x\na: " + "[" * size + "\n---\n",
    "faults": lambda size: _BETWEEN.join(["---\ntitle: x\nimportance: bad\n---\n"] * size),
    "headings of rules": lambda size: "title: x\n---\n" * size,
}


def _calls(text: str) -> int:
    """How many functions a parse calls, those of the interpreter included."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        parse(text)
    finally:
        sys.setprofile(None)
    return calls
