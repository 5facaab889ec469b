"""Looks through somebody's store, ours or another tool's, and says what is wrong with it.

::

    store ── its reader ──▶ entries ──▶ a mesh in a folder of its own ──▶ receipts ─┐
                               │        (the same gates; removed afterwards)        ├─▶ findings
                               └──────────────────── rules of `flaws` ──────────────┘
    ten questions ── context of that mesh ──▶ what a prompt would be given

Nothing is written to the store, and nothing stays of the copy. What is shown of a memory is its
text as it would be stored: a secret is a placeholder.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.care import other_tools
from memory_mesh.care.sqlite import copies
from memory_mesh.care.store_files import key_file
from memory_mesh.evaluation import flaws
from memory_mesh.evaluation.all_questions import opened_mesh
from memory_mesh.evaluation.flaws import Flaw, FlawKind, InspectedMemory
from memory_mesh.formats import exchange
from memory_mesh.mesh.operations.transfer import row_of
from memory_mesh.model import Channel, InvalidInput, NotFound, Receipt, Scope, Status
from memory_mesh.platform.store_urls import is_server
from memory_mesh.rules.arguments import moment, shown_namespace
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer
from memory_mesh.write import claims
from memory_mesh.write.claims.word_lists import TIMES

QUESTIONS = 10
_SLICE = 256  # memories stored at once
_PAGE = 1_000
_WORD = 3  # letters of a word that a question is about
_COMMON, _FEW = 0.2, 20  # share of memories from which a word is about nothing in particular
_OWN = "a store of memory-mesh"
_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Given:
    """What a prompt would be given for a question: memories, tokens, and how many have a flaw."""

    question: str
    entries: tuple[int, ...]
    tokens: int
    flawed: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a store; the texts are those that may be shown."""

    source: str
    name: str  # what it is, in words
    texts: Sequence[str]
    places: Sequence[str]
    users: Mapping[str, int]
    findings: Sequence[Flaw]
    unread: Sequence[tuple[str, str]]  # the place of what is no memory, and why
    given: Sequence[Given]

    def of(self, kind: FlawKind) -> list[Flaw]:
        """The findings of one kind."""
        return [found for found in self.findings if found.kind is kind]


def inspect(
    source: str,
    *,
    questions: Sequence[str] = (),
    project: Path | None = None,
    now: datetime,
    progress: Callable[[int], None] = lambda _: None,
) -> Inspection:
    """Inspects a store: a folder or URL of ours, or whatever `import` recognises.

    Files that memories name are looked for in `project`.
    """
    with tempfile.TemporaryDirectory(prefix="memory-mesh-inspect-") as made:
        folder = Path(made)
        name, items = _items(source, folder / "copy")
        with _emptied(folder / "inspected") as mesh:
            looked = _Looked(mesh)
            looked.take(items, progress)
            entries = looked.entries
            found = flaws.without_repeats(
                [
                    *flaws.duplicates(entries),
                    *looked.contradictions(),
                    *flaws.echoes(entries),
                    *flaws.near_duplicates(entries),
                ]
            )
            found += [*looked.secrets(), *flaws.expired(entries, now)]
            if project is not None:
                found += flaws.lost_paths(entries, lambda path: _is_gone(project, path))
            found.sort(key=lambda each: (list(FlawKind).index(each.kind), each.entries))
            own = [each for each in entries if each.whose[0] == looked.most()]
            asked = (list(questions) or _questions(own)) if own else []
            given = [looked.given(question, found) for question in asked[:QUESTIONS]]
            return Inspection(
                source, name, looked.shown, [each.place for each in entries], looked.users(),
                found, looked.unread, given,
            )  # fmt: skip


@contextmanager
def _emptied(folder: Path) -> Iterator[MemoryMesh]:
    """A mesh in a new folder, whose key goes with it."""
    try:
        with opened_mesh(folder, "inspected", None) as mesh:
            yield mesh
    finally:
        if (key := key_file(folder)) is not None:
            key.path.unlink()


def _items(source: str, copy: Path) -> tuple[str, Iterator[other_tools.Item]]:
    """What a store is, in words, and its memories as rows."""
    path = Path(source).expanduser()
    if is_server(source):
        return _OWN, _own(source)
    if (path / "namespaces").is_dir():  # opened itself it might be migrated
        for file in copies.files(path).values():
            target = copy / file.relative_to(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            copies.copied(file, target)
        return _OWN, _own(str(copy))
    if not path.exists():
        raise NotFound(f"there is no store {source}")
    known = other_tools.recognized(path)
    if known is not None:
        return known.name, known.rows(path)
    if path.is_dir() or path.suffix.lower() not in exchange.READERS:
        raise InvalidInput(
            f"{source} is no store that is known here. There are: a folder or URL of ours; "
            f"{', '.join(exchange.READERS)}, .json; a vault or folder of notes; files of mem0, "
            "server-memory, LangGraph, basic-memory, ChatGPT, Claude.ai and Claude Code"
        )
    return f"a file of rows ({exchange.format_of(path.name)})", other_tools.lines_of(path)


def _own(source: str) -> Iterator[other_tools.Item]:
    """The memories of one of our stores, of every user and namespace."""
    include = [Status.ACTIVE, Status.EXPIRED]
    with MemoryMesh(source, embedder="none", project="", session="") as mesh:
        for namespace in mesh.care.namespaces():
            view, cursor = mesh._of_same_store(namespace, None, None, owner=True), None  # noqa: SLF001
            while True:
                page = view.get_all(limit=_PAGE, cursor=cursor, include=include)
                for memory in page:
                    yield memory.id, exchange.RowOfUser(shown_namespace(namespace), row_of(memory))
                if (cursor := page.cursor) is None:
                    break


class _Looked:
    """The entries of a store, and what became of each in a mesh of its own."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self._mesh = mesh
        self.entries: list[InspectedMemory] = []
        self.shown: list[str] = []
        self.unread: list[tuple[str, str]] = []
        self._receipts: list[Receipt] = []
        self._numbers: dict[str, int] = {}  # of the first entry that a stored memory came from

    def take(self, items: Iterator[other_tools.Item], progress: Callable[[int], None]) -> None:
        """Reads all items, and stores them in the order of their times as an import would."""
        taking = self._mesh.view(channel=Channel.IMPORT)
        read: list[tuple[InspectedMemory, object, Receipt | None]] = []
        for place, item in items:
            if isinstance(item, exchange.Chat):  # what its user stated in it
                told = taking._taken([(place, item)])  # noqa: SLF001
                read += (
                    (InspectedMemory(place, one.content, at=item.at), item, one)
                    for _, _, one in told
                )
                continue
            user, row = (
                (item.user, item.row) if isinstance(item, exchange.RowOfUser) else (None, item)
            )
            if isinstance(draft := exchange.draft_of(row), dict):
                read.append((_entry(place, user, draft), item, None))
            else:
                self.unread.append((place, self._mesh._redacted(str(draft))))  # noqa: SLF001
        read.sort(key=lambda each: each[0].at or _EARLIEST)
        self.entries = [entry for entry, _, _ in read]
        receipts = {number: one for number, (_, _, one) in enumerate(read) if one is not None}
        rest = ((str(n), item) for n, (_, item, _) in enumerate(read) if n not in receipts)
        while part := list(islice(rest, _SLICE)):
            stored = taking._taken(part)  # noqa: SLF001
            receipts |= {int(place): receipt for place, _, receipt in stored}
            progress(len(receipts))
        self._receipts = [receipts[number] for number in range(len(read))]
        for number, receipt in enumerate(self._receipts):
            if receipt.id is not None:
                self._numbers.setdefault(receipt.id, number)
        self.shown = [
            receipt.content if receipt.id else self._mesh._redacted(entry.text)  # noqa: SLF001
            for entry, receipt in zip(self.entries, self._receipts, strict=True)
        ]

    def most(self) -> str | None:
        """The user with the most memories, whose prompts are looked at."""
        return next(iter(self.users()), "") or None

    def users(self) -> dict[str, int]:
        """How many memories each user has."""
        return dict(Counter(each.whose[0] or "" for each in self.entries).most_common())

    def secrets(self) -> Iterator[Flaw]:
        """Memories of which a part would be replaced."""
        for number, receipt in enumerate(self._receipts):
            if receipt.redacted:
                kinds = ", ".join(sorted(kind.replace("_", " ") for kind in receipt.redacted))
                yield Flaw(FlawKind.SECRET, (number,), kinds)

    def contradictions(self) -> Iterator[Flaw]:
        """Pairs that cannot both be true, and pairs of which the newer says that it replaces."""
        for number, receipt in enumerate(self._receipts):
            claim = claims.read(self.entries[number].text)
            kind = (
                FlawKind.SUPERSEDED
                if claim is not None and claim.replaces
                else FlawKind.CONTRADICTION
            )
            for id_ in dict.fromkeys((*receipt.superseded, *receipt.newer_than)):
                if (older := self._numbers.get(id_)) is not None and older != number:
                    yield Flaw(kind, (older, number), "the newer one stands above")

    def given(self, question: str, found: Sequence[Flaw]) -> Given:
        """What a prompt would be given for a question, from the user with the most memories."""
        whose = self.most()
        view = self._mesh if whose is None else self._mesh.for_user(whose)
        pack = view.context(question, record=False)
        entries = tuple(self._numbers[item.id] for item in pack.items if item.id in self._numbers)
        flawed = {number for each in found for number in each.entries}
        shown = self._mesh._redacted(question)  # noqa: SLF001  # it may hold a secret
        return Given(shown, entries, pack.tokens, len(flawed.intersection(entries)))


def _entry(place: str, user: str | None, draft: Mapping[str, object]) -> InspectedMemory:
    role, scope = draft.get("role"), draft.get("scope")
    return InspectedMemory(
        place,
        str(draft["content"]),
        (user, scope.project if isinstance(scope, Scope) else None),
        _time(draft, "occurred_at"),
        _time(draft, "valid_until"),
        role if isinstance(role, str) else None,
    )


def _time(draft: Mapping[str, object], name: str) -> datetime | None:
    try:
        return moment(name, draft.get(name))
    except InvalidInput:  # the receipt says so
        return None


def _questions(entries: Sequence[InspectedMemory]) -> list[str]:
    """Questions about what most memories mention: names first, then other words."""
    counts, names, spelt = Counter[str](), Counter[str](), dict[str, str]()
    for each in entries:
        said = {analyzer.stem(word.casefold()): word for word in flaws.words(each.text)}
        terms = set(said).intersection(analyzer.terms(each.text))
        counts.update(terms)
        names.update(terms.intersection(map(analyzer.stem, flaws.names(each.text))))
        for term in terms:
            spelt.setdefault(term, said[term])
    most = max(_FEW, _COMMON * len(entries))
    found = [
        term
        for term in sorted(
            counts, key=lambda one: (2 * names[one] <= counts[one], -counts[one], one)
        )
        if 1 < counts[term] <= most
        and spelt[term].isalpha()
        and len(term) >= _WORD
        and {term, spelt[term].casefold()}.isdisjoint(TIMES)
    ]
    return [f"What is known about {spelt[term]}?" for term in found[:QUESTIONS]]


def _is_gone(project: Path, path: str) -> bool:
    """True for a file that is not there although the folder that it would begin in is."""
    first = Path(path).expanduser().parts[0]
    return (project / first).is_dir() and not (project / Path(path).expanduser()).exists()
