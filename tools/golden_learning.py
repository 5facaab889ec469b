"""Write `tests/golden/reflect-*.txt` and `synthesize-*.txt`: what some memories make of themselves.

    python tools/golden_learning.py            write them
    python tools/golden_learning.py --check    exit 1 when a written one is not what this makes

Each file shows the memories, the answer and the block. Clock, ids and terms are fixed and no model
is asked, so that the same code writes the same files.
"""
# ruff: noqa: RUF001 - one of the cases is Chinese

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.learn import lessons
from memory_mesh.model import Draft, Lens, Scope, Source, SourceKind
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests/golden"


@dataclass(frozen=True, slots=True)
class Case:
    """A topic, if there is one, and the memories, oldest first."""

    topic: str | None
    memories: Sequence[str]
    kinds: Mapping[int, SourceKind] = {}  # of the memories that are not the user's


CASES = {
    "reflect-deploys": Case(
        "API",
        (
            "Deploys of the API go through staging first. We learned it after the outage in May.",
            "The API listens on port 8080.",
            "The API is always deployed to staging before production.",
            "Never deploy the API to production on Fridays.",
            "Since the move to the new cluster the API listens on port 8081.",
            "Lunch is at noon.",
            "Who owns the API?",
        ),
    ),
    "reflect-preferences": Case(
        None,
        (
            "[USER] I prefer tabs over spaces.\n\n[ASSISTANT] Noted. I will use tabs.",
            "The user prefers tabs to spaces in Go code.",
            "Dark theme is preferred in the editor.",
            "User likes dark themes, e.g. Solarized Dark. Thanks!",
            "The billing service stores invoices in Postgres 15.",
        ),
        {3: SourceKind.INFERENCE},
    ),
    "reflect-chinese": Case(
        None,
        (
            "部署总是先到预发布环境。",
            "所有部署先到预发布环境，然后到生产环境。",
            "午餐在十二点。部署吗？",
        ),
    ),
    "synthesize-release": Case(
        "release",
        (
            (
                "To release a version:\n1. Run `just test-all`.\n2. Bump the version.\n"
                "3. Tag the commit.\n4. Push the tag."
            ),
            (
                "The release went well. First I run `just test-all`, then tag the commit and "
                "finally push the tag."
            ),
            "The last release was in March.",
        ),
    ),
    "synthesize-worker": Case(
        None,
        (
            (
                "# Restart the worker\n\nIt hangs sometimes.\n\n```sh\n$ systemctl stop worker\n"
                "redis-cli --scan; echo done\n$ systemctl start worker\n```"
            ),
            "The worker hangs when Redis is full.",
        ),
    ),
    "synthesize-nothing": Case(
        "deploy",
        ("Never deploy on Fridays.", "Use staging for every deploy.", "First deploy, then sleep."),
    ),
}


class CountedIds:
    """Ids that count instead of drawing lots."""

    def __init__(self) -> None:
        self._count = 0

    def draw(self, prefix: str) -> str:
        """The next id of its prefix."""
        self._count += 1
        return f"{prefix}_1767225600000_{self._count:06x}"


def main() -> int:
    """Write the files, or with --check compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    checking = parser.parse_args().check
    stale = []
    for name in CASES:
        text = made(name)
        if not checking:
            path(name).write_text(text, encoding="utf-8")
        elif not path(name).exists() or path(name).read_text(encoding="utf-8") != text:
            stale.append(path(name).relative_to(ROOT).as_posix())
    for each in stale:
        print(f"{each} is out of date: run `just generate`", file=sys.stderr)
    print(f"{len(CASES) - len(stale)} golden files are what the code makes")
    return 1 if stale else 0


def path(name: str) -> Path:
    """Where the output of a case is kept."""
    return FOLDER / f"{name}.txt"


def made(name: str) -> str:
    """What the code makes of a case."""
    case, clock = CASES[name], FrozenClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryMesh(db_dir=folder, clock=clock, embedder="none") as mesh,
    ):
        ids = CountedIds()
        access = replace(mesh._access(), ids=ids)  # noqa: SLF001  # ids are not a setting
        shown = _stored(access, clock, case)
        lens = Lens(clock.now(), Scope(agent=mesh.config.agent_id))
        answer = _reflected if name.startswith("reflect") else _synthesized
        shown += answer(access, lens, case.topic)
        after = mesh.care.blocks(after_seq=len(case.memories), as_owner=True)
        shown += [f"block: {block.entry.id}\n{block.entry.wire}" for block in after]
    return "\n".join(shown).rstrip("\n") + "\n"


def _stored(access: Access, clock: FrozenClock, case: Case) -> list[str]:
    shown = [f"topic: {case.topic or '(none)'}", ""]
    for place, text in enumerate(case.memories):
        clock.advance(timedelta(minutes=1))
        source = Source(case.kinds.get(place, SourceKind.USER_EXPLICIT))
        receipt = remember(access, [Draft(text=text, source=source)])[0]
        shown += [f"memory: {receipt.id} ({source.kind})", receipt.content, ""]
    return shown


def _reflected(access: Access, lens: Lens, topic: str | None) -> list[str]:
    found = lessons.reflect(access, lens, topic=topic)
    return [
        f"looked at: {found.count}",
        f"reflection: {found.id}",
        f"confidence: {found.confidence}",
        f"sources: {', '.join(found.sources)}",
        "",
        found.text,
        "",
    ]


def _synthesized(access: Access, lens: Lens, topic: str | None) -> list[str]:
    made = lessons.synthesize(access, lens, topic=topic)
    return [
        f"looked at: {made.count}",
        f"status: {made.status}",
        f"analysis: {made.analysis}",
        f"skill: {made.skill_id} {made.skill_name}",
        f"sources: {', '.join(made.sources)}",
        "",
        made.yamo_text,
    ]


if __name__ == "__main__":
    sys.exit(main())
