"""What a project's past says: transcripts, memory folders, rule files and commits, as candidates.

::

    Claude Code, Codex ── what the user said ──┐
    commits ───────────── their messages ──────┼─ the rules of capture ─┐
    memory folder ── AGENTS.md, CLAUDE.md … ───┴─ one rule for a line ──┴─▶ PastStatement
                                                                               │
                                memories that wait for review, each once ◀─────┘

Nothing is believed before the user lets it in: a candidate is a memory in quarantine, with a key
made of its words. So a second run stores what the first one did not, and nothing twice.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from memory_mesh.agents.hosts.host_memory import ENDINGS, RULE_FILES, host_memory, rule_lines
from memory_mesh.agents.hosts.places import home_of, repository_place, user_place
from memory_mesh.base.typed import Any, dataclass
from memory_mesh.formats.private import without_private
from memory_mesh.learn.rules.statements import is_secret, statements
from memory_mesh.model import Kind, Memory, Outcome, Scope, Status
from memory_mesh.platform.text_files import texts
from memory_mesh.sync import MemoryMesh

TAG = "#backfill"
MOST = 14  # candidates that one run puts into review: as many as are decided in a minute
_REASON = "read from this project's past, and not confirmed yet"
_COMMITS = 500  # the newest, of this repository
_QUOTE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Quote:
    """One text of the past: where it stands, when it was said, and its words."""

    source: str  # Claude Code, Codex, memory folder, rule files, git
    where: str
    when: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class PastStatement:
    """One thing that may be so, the newest quote that says it, and in how many places it stands."""

    text: str
    kind: Kind
    quote: Quote
    places: int
    personal: bool = False

    @property
    def key(self) -> str:
        """The key of its write: the same words are one candidate, wherever they stand."""
        return f"backfill:{sha256(_folded(self.text).encode()).hexdigest()}"


def past(environment: Mapping[str, str], here: Path) -> list[Quote]:
    """All that is found about the repository of a folder; what cannot be read is left out."""
    root = repository_place(here).repository or here
    return [
        *_claude(user_place(environment).folder / "projects", root),
        *_codex(Path(environment.get("CODEX_HOME") or home_of(environment) / ".codex"), root),
        *_lines("memory folder", host_memory(environment, here, only_here=True).folders, root),
        *_lines("rule files", [root / name for name in RULE_FILES], root),
        *_commits(root),
    ]


def candidates(quotes: Iterable[Quote]) -> list[PastStatement]:
    """What the quotes state, once each: what stands in most places first, then the newest."""
    found: dict[str, list[tuple[Quote, str, Kind, bool]]] = {}
    for quote in quotes:
        for text, kind, personal in _stated(quote):
            found.setdefault(_folded(text), []).append((quote, text, kind, personal))
    made = []
    for said in found.values():
        quote, text, kind, personal = max(said, key=lambda one: _time(one[0]))
        made.append(PastStatement(text, kind, quote, len({one[0].where for one in said}), personal))
    return sorted(made, key=lambda one: (-one.places, -_time(one.quote), one.text))


def put_into_review(mesh: MemoryMesh, found: Sequence[PastStatement], most: int = MOST) -> int:
    """Stores candidates that no run stored before, the first ones; returns how many."""
    stored = 0
    for one in found:
        if stored >= most:
            break
        item = {
            "content": one.text,
            "kind": one.kind,
            "metadata": {"quote": one.quote.text[:_QUOTE_CHARS], "places": one.places},
            "tags": [TAG],
            "scope": Scope() if one.personal else Scope(project=mesh.config.project),
            "source_ref": f"{one.quote.source}: {one.quote.where}",
            "quarantine": _REASON,
            "occurred_at": one.quote.when,
            "key": one.key,
        }
        [receipt] = mesh.add_many([item])
        stored += receipt.outcome is Outcome.QUARANTINED and not receipt.again
    return stored


def waiting(mesh: MemoryMesh) -> list[Memory]:
    """The candidates that wait, in the order in which they were put there."""
    page = mesh.get_all(filter=f"tags = '{TAG}'", include=[Status.QUARANTINED], limit=1_000)
    return [one for one in page if one.status is Status.QUARANTINED][::-1]


def _stated(quote: Quote) -> Iterator[tuple[str, Kind, bool]]:
    """What a quote states: a line of a rule file as it stands, all else by the rules of capture."""
    if quote.source in {"rule files", "memory folder"}:
        if not is_secret(quote.text):
            yield quote.text, Kind.FACT, False
        return
    for one in statements(without_private(quote.text), MOST, waiting=True):
        yield one.text, one.kind, one.personal


def _claude(projects: Path, root: Path) -> Iterator[Quote]:
    """What the user said to Claude Code in this repository."""
    name = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    for path in sorted((projects / name).glob("*.jsonl")):
        for line in _json_lines(path, '"user"'):
            message = line.get("message")
            if line.get("type") != "user" or line.get("isMeta") or line.get("isSidechain"):
                continue
            content = message.get("content") if isinstance(message, dict) else None
            yield from _said("Claude Code", path.stem, line.get("timestamp"), content)


def _codex(home: Path, root: Path) -> Iterator[Quote]:
    """What the user said to Codex in this repository."""
    for path in sorted(home.glob("sessions/*/*/*/*.jsonl")):
        for line in _json_lines(path, "payload"):
            told = line.get("payload")
            if not isinstance(told, dict):
                continue
            if line.get("type") == "session_meta":
                if not _is_inside(told.get("cwd"), root):
                    break
                continue
            item = told.get("item")  # 0.169; before it, `user_message` with its text
            if isinstance(item, dict) and item.get("type") == "UserMessage":
                yield from _said("Codex", path.stem, line.get("timestamp"), item.get("content"))
            elif told.get("type") == "user_message":
                yield from _said("Codex", path.stem, line.get("timestamp"), told.get("message"))


def _is_inside(folder: object, root: Path) -> bool:
    return isinstance(folder, str) and Path(folder).is_relative_to(root)


def _said(source: str, session: str, when: object, content: object) -> Iterator[Quote]:
    """The texts of one message: no answers of tools."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for part in parts:
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part["text"], str):
            yield Quote(source, f"session {session}", _moment(when), part["text"])


def _lines(source: str, folders: Iterable[Path], root: Path) -> Iterator[Quote]:
    """Each item of a list, and each line that ends like a sentence, of files for agents."""
    for folder in folders:
        if not folder.exists():
            continue
        for path, text in texts(folder, ENDINGS).found:
            when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            near = path.is_relative_to(root)
            name = path.relative_to(root).as_posix() if near else path.name
            for number, line in rule_lines(text):
                yield Quote(source, f"{name}:{number}", when, line)


def _commits(root: Path) -> Iterator[Quote]:
    """The messages of the newest commits, without their subjects' prefixes of people and tools."""
    words = ["git", "-C", str(root), "log", f"-{_COMMITS}", "--no-merges"]
    try:
        done = subprocess.run(  # noqa: S603  # fixed words, and a folder
            [*words, "--format=%h%x1f%cI%x1f%B%x1e"],
            capture_output=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # no git, no repository, no commit
        return
    for entry in done.stdout.decode("utf-8", "replace").split("\x1e"):
        name, _, rest = entry.strip().partition("\x1f")
        when, _, text = rest.partition("\x1f")
        if text.strip():
            yield Quote("git", f"commit {name}", _moment(when), text.strip())


def _json_lines(path: Path, holds: str) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines that hold a word; damaged lines are left out."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if holds not in line:
                    continue
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if isinstance(found, dict):
                    yield found
    except OSError:
        return


def _moment(when: object) -> datetime | None:
    try:
        return datetime.fromisoformat(when) if isinstance(when, str) else None
    except ValueError:
        return None


def _time(quote: Quote) -> float:
    return 0.0 if quote.when is None else quote.when.timestamp()


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


# Deciding, one after the other: yes, no, with other words, or another time.


def decide(
    mesh: MemoryMesh, stack: Sequence[Memory], ask: Callable[[str], str], say: Callable[[str], None]
) -> dict[str, int]:
    """Asks about each candidate; what is not decided waits. Returns how often each was answered."""
    done = {"yes": 0, "no": 0, "edited": 0, "later": 0}
    for number, one in enumerate(stack, start=1):
        say(f"{number} of {len(stack)}: {one.text}")
        say(f"    {_quoted(one)}")
        answer = ask("    y / n / edit / later / quit [later] ").strip().lower()
        if answer in {"q", "quit"}:
            done["later"] += len(stack) - number + 1
            break
        if answer in {"e", "edit"}:
            words = ask("    as it should be: ").strip()
            if words:
                mesh.update(one.id, words, reason="corrected by the user in review")
            answer = "edited" if words else ""
        name = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "edited": "edited"}.get(answer)
        if name is not None:
            mesh.review(one.id, approve=name != "no", reason="decided after a backfill")
        done[name or "later"] += 1
    return done


def _quoted(one: Memory) -> str:
    """Where it stands, and what stands there if that is more."""
    quote = " ".join(str(one.extra.get("quote", "")).split())
    more = "" if quote == one.text else f': "{quote}"'
    places = one.extra.get("places")
    often = f", and in {places - 1} more" if isinstance(places, int) and places > 1 else ""
    return f"{one.source.ref}{often}{more}"
