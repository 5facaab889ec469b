"""The blocks of a page, and how what was printed is compared with what the page shows.

A block is known by the first line of its fence:

- ```` ```python ```` runs in the page's Python process. One that imports from `memory_mesh` starts
  with no names, as a new file would; any other goes on where the block before it ended.
- ```` ```text ```` (or a fence without a language) right after it is what it printed. Without one
  it must print nothing.
- ```` ```console ```` is a session of the page's shell: lines after `$ ` are typed (`> ` goes on),
  the others are what the terminal showed. A block of commands alone only has to succeed. A command
  may fail if the next one is `echo $?`.
- ```` ```LANGUAGE title="notes/a.md" ```` is a file; it is written before the next block runs.
- ```` ```LANGUAGE title="Needs …" ```` is not run: the title says what is needed for it.

`SAME` lists all that may differ between the page and a run. An id or a stamp of the page stands for
the one that was printed in its place, also in the commands and the code after it. A line `…` stands
for lines that are left out.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CODE = {"python", "console", "sh", "bash"}
GAP = "…"
_FENCE = re.compile(r"(?ms)^( *)(```+|~~~+) *(\w*) *([^\n]*)\n(.*?)^ *\2 *$")
_TITLE = re.compile(r'title="([^"]+)"')
_HEX = "[0-9a-f]"
NAMED = re.compile(  # told apart from each other: each stands for one that a run printed
    rf"\b[a-z]+(?:_[a-z]+)*_\d{{13}}_{_HEX}{{6}}\b"
    rf"|\b(?:memories-|[A-Z]+_){_HEX}{{12}}\b"
    rf"|\b\d{{8}}T\d{{6}}Z|\b{_HEX}{{32,64}}\b|\b{_HEX}{{8}}(?=  made )"
)
SAME = (  # what they are called, and how they look
    ("id or stamp", NAMED),
    ("time", re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)?")),
    ("age", re.compile(r"just now|\d+ seconds? ago|a minute ago")),
    ("duration", re.compile(r"\b\d+(?:\.\d+)? ?m?s\b")),
    ("tokens with an id in them", re.compile(r"\b\d+(?= (?:of \d+ )?tokens\b)")),
    ("size on disk", re.compile(r"\b[\d.,]+ (?:bytes|KB|MB|GB)\b|(?<=Bytes).*: \d+")),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `start` and `end` are the places of its body in the text."""

    language: str
    title: str
    body: str
    start: int
    end: int
    indent: str
    fence: str

    @property
    def needs(self) -> str:
        """What a block that is not run needs; else nothing."""
        return self.title.removeprefix("Needs ") if self.title.startswith("Needs ") else ""

    @property
    def file(self) -> str:
        """The name of the file that a block is; else nothing."""
        return self.title if re.fullmatch(r"[\w./-]*\.\w+", self.title) else ""

    @property
    def runs(self) -> bool:
        return self.language in CODE and not self.needs and not self.file


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in its order."""
    found = []
    for match in _FENCE.finditer(text):
        indent, fence, language, rest, body = match.groups()
        title = _TITLE.search(rest)
        named = title[1] if title else ""
        start, end = match.span(5)
        found.append(Block(language, named, textwrap.dedent(body), start, end, indent, fence))
    return found


def output_of(block: Block, text: str) -> Block | None:
    """The block of text right after a block of code."""
    behind = text[block.end :].partition("\n")[2]
    for after in blocks(text):
        if after.start > block.end and after.language in {"", "text"} and not after.title:
            between = text[len(text) - len(behind) : after.start]
            return after if re.fullmatch(r"\n *[`~]+(text)?\n", between) else None
    return None


def typed(body: str) -> Iterator[tuple[str, str, str]]:
    """The commands of a session, each as written, and what the page shows below it."""
    command, written, shown = "", "", ""
    for line in body.splitlines(keepends=True):
        goes_on = line.startswith("> ") or command.endswith("\\\n")
        if line.startswith("$ "):
            if command:
                yield command, written, shown
            command, written, shown = line[2:], line, ""
        elif goes_on and not shown:
            command, written = command + line.removeprefix("> "), written + line
        else:
            shown += line
    if command:
        yield command, written, shown


def plain(text: str) -> str:
    """A text in which all that may differ is replaced by its name."""
    for name, pattern in SAME:
        text = pattern.sub(f"<{name}>", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def agrees(said: str, shown: str) -> bool:
    """Whether the shown text is what was said, with gaps where lines are left out."""
    parts = re.split(rf"(?m)^ *{GAP}$\n?", shown)
    pattern = r"(?:.*\n)*?".join(re.escape(plain(part) + "\n") if part else "" for part in parts)
    return re.fullmatch(pattern, plain(said) + "\n") is not None


def standing_for(said: str, shown: str) -> Mapping[str, str]:
    """The ids and stamps of a page, each with the one that was printed in its place."""
    if re.search(rf"(?m)^ *{GAP}$", shown):
        return {}
    return dict(zip(NAMED.findall(shown), NAMED.findall(said), strict=True))


def filled(text: str, ids: Mapping[str, str]) -> str:
    """A command or code with the ids of this run in place of those of the page."""
    for of_page, of_run in ids.items():
        text = text.replace(of_page, of_run)
    return text


def relative(page: Path, root: Path) -> str:
    """The name of a page in the repository."""
    return page.relative_to(root).as_posix()
