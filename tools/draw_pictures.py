"""Draws the pictures of the documentation: the parts, how a memory is written, how it is found.

    python tools/draw_pictures.py            writes docs/pictures/{parts,writing,reading}.svg
    python tools/draw_pictures.py --check    1 if a file is not what this makes

A picture is rows of boxes with arrows between the rows. It has its own pale background, so that it
can be read on a dark page too, and no font of its own.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

PICTURES = Path(__file__).parent.parent / "docs/pictures"
WIDTH, MARGIN, GAP = 760, 20, 14
_HEAD, _LINE, _PAD, _ARROW = 20, 17, 12, 30
_COLOURS = {
    "face": ("#e8f0fe", "#4a76c9"),
    "core": ("#e9f6ec", "#3d8b54"),
    "truth": ("#fdf2dc", "#b7791f"),
    "spare": ("#f3f4f6", "#8a93a3"),
}
_STYLE = (
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2937}"
    ".h{font-size:14px;font-weight:600}.t{font-size:12.5px}.n{font-size:12px;fill:#4b5563}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A heading, lines below it, and what kind of part it is."""

    heading: str
    lines: tuple[str, ...] = ()
    kind: str = "core"
    share: int = 1  # of the row's width


@dataclass(frozen=True, slots=True)
class Row:
    """Boxes side by side, and the words beside the arrow that leads to them."""

    boxes: tuple[Box, ...]
    arrow: str | None = None


PARTS = (
    "The parts of memory-mesh: ways in, one core, one store, and what can be made anew",
    (
        Row(
            (
                Box("Python", ("blocking or async; for", "LangGraph, OpenAI"), "face"),
                Box("Command line", ("memory-mesh store,", "search, review, backup …"), "face"),
                Box("MCP server", ("eight tools for", "any agent"), "face"),
                Box("Agent hooks", ("Claude Code: recall and", "capture by themselves"), "face"),
            )
        ),
        Row(
            (
                Box(
                    "One core, in every process",
                    (
                        "Redact and clean · decide by rules (duplicate, contradiction, trust) ·",
                        "plan a search · rank · explain. No server, no key, no network.",
                    ),
                ),
            ),
            "any number of processes",
        ),
        Row(
            (
                Box(
                    "The ledger: one SQLite file per namespace",
                    (
                        "memories, every version, claims, keywords, vectors,",
                        "audit blocks in a hash chain: all in one transaction",
                    ),
                    "truth",
                    3,
                ),
                Box("Embedder (optional)", ("static vectors, ONNX,", "or a service"), "spare", 2),
            ),
            "what is acknowledged is on disk",
        ),
        Row(
            (
                Box("Index", ("of large stores (Lance)",), "spare"),
                Box("Vector file", ("for the exact scan",), "spare"),
                Box("Markdown mirror", ("memories as files in git",), "spare"),
                Box("Backups, archives", ("verified when restored",), "spare"),
            ),
            "beside it, never the only copy",
        ),
    ),
)

WRITING = (
    "How a memory is written",
    (
        Row((Box("mesh.add(text)", ("or store, a hook, an MCP tool, an import",), "face"),)),
        Row(
            (
                Box("Redact", ("e-mail addresses, keys,", "numbers: replaced")),
                Box("Clean and read", ("Markdown, HTML; claims", "such as “X uses Y”")),
                Box("Embed", ("if there is a model;", "else later")),
            ),
            "before any lock is taken",
        ),
        Row(
            (
                Box(
                    "Decide, inside the transaction",
                    (
                        "Is it there already? Does it contradict, and who is to be believed?",
                        "Rules answer, no model: store, merge, supersede, set aside, refuse.",
                    ),
                ),
            ),
            "one writer at a time, in order of arrival",
        ),
        Row(
            (Box("Rows and audit block, one commit", ("killed here: all or nothing",), "truth"),),
        ),
        Row((Box("Receipt", ("the outcome and every reason",), "face"),), "after the disk has it"),
    ),
)

READING = (
    "How a question is answered",
    (
        Row((Box("mesh.search(question)", ("or a context for a prompt",), "face"),)),
        Row(
            (
                Box(
                    "Read the question",
                    ("words, names, the time it names;", "private parts redacted"),
                ),
                Box(
                    "Who asks",
                    ("user, project, session: only what", "this reader sees is looked at"),
                ),
            ),
            "once",
        ),
        Row(
            (
                Box("By words", ("BM25, synonyms,", "misspelt words"), "truth"),
                Box("By meaning", ("exact scan, or the index", "of a large store"), "truth"),
                Box("Beside them", ("the turns before", "and after"), "truth"),
            ),
            "one read transaction; filters inside",
        ),
        Row(
            (
                Box(
                    "Rank",
                    (
                        "one score: the estimated probability that the memory answers;",
                        "newer above older, the trusted above the guess",
                    ),
                ),
            ),
        ),
        Row((Box("Hits", ("each with the numbers behind its rank",), "face"),), "may be none"),
    ),
)


DRAWN = {"parts": PARTS, "writing": WRITING, "reading": READING}


def drawn(title: str, rows: tuple[Row, ...]) -> str:
    """The picture as SVG."""
    out: list[str] = []
    top = MARGIN
    for number, row in enumerate(rows):
        if number:
            out.append(_arrow(top, row.arrow))
            top += _ARROW
        height = _HEAD + _LINE * max(len(box.lines) for box in row.boxes) + _PAD
        out += _boxes(row, top, height)
        top += height
    total = top + MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect width="{WIDTH}" height="{total}" rx="10" fill="#ffffff"/>',
            *out,
            "</svg>\n",
        )
    )


def _boxes(row: Row, top: int, height: int) -> list[str]:
    shares = sum(box.share for box in row.boxes)
    room = WIDTH - 2 * MARGIN - GAP * (len(row.boxes) - 1)
    left = float(MARGIN)
    out = []
    for box in row.boxes:
        width = room * box.share / shares
        fill, line = _COLOURS[box.kind]
        out.append(
            f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{height}" rx="7" '
            f'fill="{fill}" stroke="{line}"/>'
        )
        middle = left + width / 2
        out.append(_text(middle, top + _HEAD, "h", box.heading))
        for number, words in enumerate(box.lines, 1):
            out.append(_text(middle, top + _HEAD + number * _LINE, "t", words))
        left += width + GAP
    return out


def _arrow(top: int, words: str | None) -> str:
    middle, end = WIDTH / 2, top + _ARROW - 4
    arrow = (
        f'<path d="M{middle:.0f} {top + 4}V{end - 6}" stroke="#6b7280" stroke-width="1.6"/>'
        f'<path d="M{middle - 5:.0f} {end - 7}h10l-5 7z" fill="#6b7280"/>'
    )
    if words is None:
        return arrow
    beside, height = middle + 14, top + _ARROW / 2 + 4
    return f'{arrow}<text class="n" x="{beside:.0f}" y="{height:.0f}">{escape(words)}</text>'


def _text(middle: float, y: int, kind: str, words: str) -> str:
    return (
        f'<text class="{kind}" x="{middle:.0f}" y="{y}" text-anchor="middle">{escape(words)}</text>'
    )


def main() -> int:
    """Writes the pictures, or says which one is old."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file is old")
    check = parser.parse_args().check
    for name, (title, rows) in DRAWN.items():
        file, text = PICTURES / f"{name}.svg", drawn(title, rows)
        if not check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{file.name} is old: run `python tools/draw_pictures.py`")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
