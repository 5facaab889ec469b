"""The command inspect: what is wrong with a store, ours or another tool's."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size

from memory_mesh.cli import options as cli_options, output
from memory_mesh.cli.command_table import Command, about, argument
from memory_mesh.cli.commands.ui import dashboard
from memory_mesh.cli.progress import Counting
from memory_mesh.evaluation.flaws import Flaw, FlawKind
from memory_mesh.evaluation.inspection import Inspection, inspect
from memory_mesh.mesh.operations.transfer import refuse_existing
from memory_mesh.model import Json
from memory_mesh.platform.ids import SystemClock
from memory_mesh.privacy import masked

_NARROWEST, _WIDEST = 60, 120  # columns of the table
_KIND, _QUESTION = 25, 34  # columns
_ON_PAGE = 200  # findings of a kind that the page lists
_NAMES = {
    FlawKind.DUPLICATE: "duplicates",
    FlawKind.NEAR_DUPLICATE: "near duplicates",
    FlawKind.SECRET: "secrets, personal data",
    FlawKind.ECHO: "echoes of recalled text",
    FlawKind.CONTRADICTION: "contradictions",
    FlawKind.EXPIRED: "stale: expired",
    FlawKind.SUPERSEDED: "stale: superseded",
    FlawKind.PATH_GONE: "stale: names a lost file",
}


def _run(options: argparse.Namespace) -> int:
    """Looks through the store and prints a table; the store stays as it is."""
    page = None if options.html is None else Path(options.html).expanduser()
    if page is not None:
        refuse_existing(page)
        dashboard()  # what it needs is said before the work
    counting, folder = Counting("memories"), cli_options.here()
    done = inspect(
        options.source,
        questions=options.question,
        project=None if folder is None else Path(folder),
        now=SystemClock().now(),
        progress=counting,
    )
    counting.end()
    if page is not None:
        page.write_text(_page(done), encoding="utf-8")
        output.note(f"[MemoryMesh] The page is {output.named(page)}.")
    return output.answer(_plain(done), *_lines(done), as_json=options.json)


def _lines(done: Inspection) -> Iterator[str]:
    columns = max(_NARROWEST, min(_WIDEST, get_terminal_size().columns)) - 1
    whose = f" of {output.counted(len(done.users), 'user')}" if len(done.users) > 1 else ""
    count = output.counted(len(done.texts), "memory")
    yield f"[MemoryMesh] {output.named(done.source)} is {done.name}: {count}{whose}."
    for kind, named in _NAMES.items():
        found = done.of(kind)
        example = f"{_place(done, found[0])}: {_example(done, found[0])}" if found else ""
        yield _row(named, len(found), example, columns)
    if done.unread:
        place, why = done.unread[0]
        yield _row("not read", len(done.unread), f"{masked(place)}: {why}", columns)
    if done.given:
        yield ""
        whose = f"A prompt of {next(iter(done.users))}" if len(done.users) > 1 else "A prompt about"
        whose = f"{output.one_line(whose, _QUESTION - 1):<{_QUESTION}}"
        yield f"{whose} {'memories':>8} {'tokens':>7} {'with a flaw':>12}"
    for each in done.given:
        question = f"{output.one_line(each.question, _QUESTION - 1):<{_QUESTION}}"
        yield f"{question} {len(each.entries):>8} {each.tokens:>7,} {each.flawed:>12}"


def _row(named: str, count: int, example: str, columns: int) -> str:
    row = f"{named:<{_KIND}}{count:>6,}  "
    return (row + output.one_line(example, columns - len(row))).rstrip()


def _place(done: Inspection, found: Flaw) -> str:
    return masked(done.places[found.entries[0]])


def _example(done: Inspection, found: Flaw) -> str:
    return output.unbroken(done.texts[found.entries[0]])


def _plain(done: Inspection) -> dict[str, Json]:
    """All of it as JSON values."""

    def entries(numbers: tuple[int, ...]) -> list[Json]:
        return [{"place": masked(done.places[n]), "content": done.texts[n]} for n in numbers]

    return {
        "source": output.named(done.source),
        "format": done.name,
        "memories": len(done.texts),
        "users": dict(done.users),
        "counts": {str(kind): len(done.of(kind)) for kind in _NAMES},
        "findings": [
            {"kind": str(found.kind), "why": found.why, "memories": entries(found.entries)}
            for found in done.findings
        ],
        "unread": [{"place": masked(place), "reason": why} for place, why in done.unread],
        "questions": [
            {
                "question": each.question,
                "tokens": each.tokens,
                "with_a_flaw": each.flawed,
                "memories": entries(each.entries),
            }
            for each in done.given
        ],
    }


def _page(done: Inspection) -> str:
    """One page that needs no other file."""
    app, _, _ = dashboard()
    template = app.templates("").get_template("inspection.html")
    kinds = [(kind, named, done.of(kind)) for kind, named in _NAMES.items()]
    style = Path(str(app.__file__)).with_name("static").joinpath("style.css")
    page: str = template.render(
        done=done,
        kinds=kinds,
        style=style.read_text(encoding="utf-8"),
        source=output.named(done.source),
        masked=masked,
        most=_ON_PAGE,
        theme="auto",
        asked=None,
    )
    return page


INSPECT = Command(
    "memory-mesh inspect ~/.mem0/qdrant --html report.html",
    (
        about(
            "Reads a store and changes nothing in it: one of ours (a folder, a PostgreSQL URL),\n"
            "or what `memory-mesh import` reads. A placeholder stands for each secret."
        ),
        argument("source", metavar="STORE", help="a folder, a file or a URL"),
        argument("--html", metavar="FILE", help="write the whole report as one page, too"),
        argument(
            "--question",
            metavar="TEXT",
            action="append",
            default=[],
            help="what a prompt would be given for it; may be repeated ten times; default: about "
            "what most memories mention",
        ),
    ),
    _run,
)
