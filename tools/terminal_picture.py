"""Runs the commands of docs/pictures/terminal.txt in a terminal and draws what they print.

    python tools/terminal_picture.py            writes docs/pictures/terminal.svg
    python tools/terminal_picture.py --check    1 if the picture does not show what they print today

The commands run in a terminal of 78 columns with an empty home, without a model and without a
network. For the comparison ids are left out: they are new in every run.
"""

import argparse
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.terminal import on_terminal  # noqa: E402  # of this checkout

PICTURES = ROOT / "docs/pictures"
COMMANDS, PICTURE = PICTURES / "terminal.txt", PICTURES / "terminal.svg"
TITLE, COLUMNS = "A session on the command line", 78
_WIDE, _HIGH, _LEFT, _TOP = 8.43, 20, 18, 52
_COLOURS = {"31": "#f38ba8", "32": "#a6e3a1", "33": "#f9e2af", "34": "#89b4fa", "36": "#94e2d5"}
_BACKGROUND, _PLAIN, _DIM, _PROMPT = "#1e1e2e", "#e6e9ef", "#9399b2", "#a6e3a1"
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SECONDS = 0.7  # between the lines of a moving picture
_MOVING = (
    "@media (prefers-reduced-motion:no-preference){text{opacity:0;animation:show .3s forwards}}"
    "@keyframes show{to{opacity:1}}"
)
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_OTHER_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\r")
_ID = re.compile(r"mem_\d+_[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of one look."""

    text: str
    colour: str = _PLAIN
    bold: bool = False


def session() -> list[list[Piece]]:
    """Every line of the terminal: each command behind its prompt, and what it prints."""
    lines: list[list[Piece]] = []
    with tempfile.TemporaryDirectory() as home:
        for command in COMMANDS.read_text(encoding="utf-8").splitlines():
            lines += [*([[]] if lines else []), *typed(command, _printed(command, Path(home)))]
    return lines


def typed(command: str, printed: str) -> list[list[Piece]]:
    """The lines of one command: its prompt, and what it printed."""
    lines = [[Piece("$ ", _PROMPT), Piece(command, bold=True)]]
    for line in printed.splitlines():
        lines += wrapped(pieces(line))
    return lines


def pieces(line: str) -> list[Piece]:
    """A line of a terminal, cut where its look changes."""
    found: list[Piece] = []
    colour, bold = _PLAIN, False
    for number, part in enumerate(_SGR.split(line)):
        if number % 2 == 0:
            if part:
                found.append(Piece(part, colour, bold))
            continue
        for code in part.split(";"):
            if code in {"", "0"}:
                colour, bold = _PLAIN, False
            elif code == "1":
                bold = True
            elif code == "2":
                colour = _DIM
            else:
                colour = _COLOURS.get(code, colour)
    return found


def wrapped(line: list[Piece]) -> list[list[Piece]]:
    """The line in as many rows as the terminal needs for it."""
    rows: list[list[Piece]] = [[]]
    room = COLUMNS
    for piece in line:
        rest = piece.text
        while rest:
            if not room:
                rows.append([])
                room = COLUMNS
            rows[-1].append(Piece(rest[:room], piece.colour, piece.bold))
            rest, room = rest[room:], max(0, room - len(rest))
    return rows


def drawn(lines: list[list[Piece]], title: str, *, moving: bool = False) -> str:
    """The terminal as SVG; a moving one shows its lines one after another."""
    width = round(2 * _LEFT + COLUMNS * _WIDE)
    height = _TOP + len(lines) * _HIGH + 6
    dots = "".join(
        f'<circle cx="{22 + 20 * number}" cy="20" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#f38ba8", "#f9e2af", "#a6e3a1"))
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>text{{font:14px {_FONT};white-space:pre}}{_MOVING if moving else ''}</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{_BACKGROUND}"/>{dots}',
            *(_line(number, line, moving=moving) for number, line in enumerate(lines) if line),
            "</svg>\n",
        )
    )


def _line(number: int, line: list[Piece], *, moving: bool) -> str:
    """One line; every piece has its place and its length, whatever font is used."""
    delay = f' style="animation-delay:{number * _SECONDS:.1f}s"' if moving else ""
    out, column = [], 0
    for piece in line:
        weight = ' font-weight="700"' if piece.bold else ""
        length = len(piece.text) * _WIDE
        out.append(
            f'<tspan x="{_LEFT + column * _WIDE:.1f}" textLength="{length:.1f}" '
            f'fill="{piece.colour}"{weight}>{escape(piece.text)}</tspan>'
        )
        column += len(piece.text)
    return f'<text y="{_TOP + number * _HIGH}"{delay}>{"".join(out)}</text>'


def _printed(command: str, home: Path) -> str:
    """What a command prints on a terminal of its own."""
    words = shlex.split(command)
    words[0] = str(Path(sys.executable).with_name(words[0]))
    variables = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LANG": "C.UTF-8",
        "MEMORY_MESH_EMBEDDER": "none",
    }
    _, printed = on_terminal(words, home, variables, typing=True)
    return _OTHER_CODES.sub("", printed).replace(str(home), "~")


def words_of(svg: str) -> str:
    """The text of a picture, without ids."""
    return _ID.sub("ID", re.sub(r"<[^>]+>", "", svg))


def main() -> int:
    """Writes the picture, or compares it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it is old")
    check = parser.parse_args().check
    made = drawn(session(), TITLE)
    if not check:
        PICTURE.write_text(made, encoding="utf-8")
    elif words_of(PICTURE.read_text(encoding="utf-8")) != words_of(made):
        print("terminal.svg is old: run `python tools/terminal_picture.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
