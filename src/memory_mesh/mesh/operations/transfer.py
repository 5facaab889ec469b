"""Write memories to a file, take such a file in, and delete a user."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice, takewhile
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.formats import exchange
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import needs, reads
from memory_mesh.mesh.operations.memories import MemoryVerbs
from memory_mesh.mesh.options import Across, Condition, Progress, Reader
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Json,
    Memory,
    MeshError,
    NotAllowed,
    Outcome,
    Receipt,
    times,
)
from memory_mesh.model.care import ImportedFile
from memory_mesh.model.learning import ExtractionRules
from memory_mesh.model.record import record
from memory_mesh.rules.arguments import (
    PREFIX,
    check_text,
    check_whole,
    user_namespace,
    user_of,
)
from memory_mesh.rules.trust import OF_ROWS, is_authoritative

if TYPE_CHECKING:
    from memory_mesh.model.care import DeletedNamespace

_SLICE = 256  # memories stored at once
_PAGE = 1_000  # memories read at once
_OF_A_CHAT = "rules found it in an imported chat; nobody confirmed it"
_NOT_SPLIT = (
    "it names a user: send each user's rows for that user (the header of a user), run memory-mesh "
    "import with the URL of the service as --store, or leave the user out"
)
_REASONS = 20  # refused rows that a report names


class TransferVerbs(MemoryVerbs):
    """Methods that move memories in and out of files that other programs read."""

    def export(
        self,
        path: str | PathLike[str],
        *,
        filter: Condition = None,
        scope: Reader = None,
        across: Across = (),
        progress: Progress = None,
    ) -> int:
        """Writes the visible memories to a file and returns how many; its ending says the format.

        `.jsonl` has one memory per line with what was said of it, `.csv` the same as a table,
         `.md` the texts as a list. A file that is there already is refused. For a copy of
        the whole store with versions and audit use `memory_mesh.care.backup`.

        Options:
            progress: called with the number of memories written so far.
        """
        target, done = Path(path), 0
        refuse_existing(target)
        write = exchange.WRITERS[exchange.format_of(target.name)]

        def rows() -> "Iterator[exchange.Row]":
            nonlocal done
            cursor = None
            while True:
                page = self.get_all(
                    limit=_PAGE, cursor=cursor, filter=filter, scope=scope, across=across
                )
                yield from map(row_of, page)
                done, cursor = done + len(page), page.cursor
                if progress is not None:
                    progress(done)
                if cursor is None:
                    return

        part = target.with_name(f".{target.name}.part")
        with _file_errors(target):
            try:
                with part.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(write(rows()))
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)
        return done

    def import_(self, path: str | PathLike[str], *, progress: Progress = None) -> ImportedFile:
        """Stores the memories of a file and reports what became of each; again changes nothing.

        `.jsonl` has an object or a text per line, `.csv` a column `content` (separated by commas,
        semicolons or tabs), `.md` a list or paragraphs, between headings. `created_at` of a row is
        when it happened, unless it has `occurred_at`. What is not a memory is refused with its line
        and its reason, and the rest is stored. What it says counts as a document's word, whoever
        the file says it is from, or as less where our own file says so. A row of a
        table without a `source_ref` gets the name of the file.

        Files and folders of other tools are recognised: server-memory, mem0 (an export, its history
        or the folder of its Qdrant), LangGraph, basic-memory, a vault of Obsidian, other Markdown
        notes. What names its user (`user_id` or `user` of a row) goes to that user. Of chats of
        ChatGPT and Claude.ai and of transcripts of Claude Code, rules find what the user stated;
        all of it waits for review.

        Options:
            progress: called with the number of rows so far.
        """
        return self._imported(Path(path), progress)

    def _imported(
        self, source: Path, progress: Progress, *, of_service: bool = False
    ) -> ImportedFile:
        """Stores them; the service does so only for the user or namespace that it was asked for."""
        from memory_mesh.care import other_tools

        counts: dict[str | None, Counter[str]] = {}
        reasons, done = list[str](), 0
        taking = self._of_same_store(None, None, Channel.IMPORT)
        file = None if of_service or source.suffix.lower() not in OF_ROWS else source.name
        with _file_errors(source):
            known = other_tools.recognized(source)
            items = known.rows(source) if known else other_tools.lines_of(source)
            while part := list(islice(items, _SLICE)):
                for place, user, receipt in taking._taken(part, file, split=not of_service):  # noqa: SLF001
                    counts.setdefault(user, Counter())[str(receipt.outcome)] += 1
                    if receipt.outcome is Outcome.REFUSED:
                        said = (place, receipt.content[:60], "; ".join(receipt.reasons))
                        reasons.append(": ".join(filter(None, said)))
                done += len(part)
                if progress is not None:
                    progress(done)
        name = known.name if known else exchange.format_of(source.name)
        outcomes = sum(counts.values(), Counter[str]())
        refused = outcomes.pop(str(Outcome.REFUSED), 0)
        users = {user: dict(found) for user, found in counts.items() if user is not None}
        return ImportedFile(
            {**outcomes, str(Outcome.REFUSED): refused}, tuple(reasons[:_REASONS]), name, users
        )

    def _taken(
        self, part: list[tuple[str, object]], file: str | None = None, *, split: bool = True
    ) -> Iterator[tuple[str, str | None, Receipt]]:
        """Stores some items, each user's for that user; says whose each was, and its receipt."""
        drafts = dict[str | None, list[tuple[str, dict[str, object]]]]()
        for place, item in part:
            if isinstance(item, exchange.Chat):
                yield from ((place, None, receipt) for receipt in self._stated(item))
                continue
            user, row = (
                (item.user, item.row) if isinstance(item, exchange.RowOfUser) else (None, item)
            )
            draft = exchange.draft_of(row)
            if user is not None and not split and user_of(self._config.namespace) is None:
                draft = InvalidInput(_NOT_SPLIT)
            if isinstance(draft, InvalidInput):
                yield place, user, Receipt.not_read(str(draft))
            else:
                named = {"source_ref": file} if file else {}
                drafts.setdefault(user, []).append((place, named | draft))
        for user, found in drafts.items():
            own = user is None or user_of(self._config.namespace) is not None
            try:
                view = self if own else self._of_same_store(user_namespace(user), None, None)
                receipts = view.add_many([draft for _, draft in found])
            except InvalidInput as error:  # of the user's name, or of all of them
                receipts = [Receipt.not_read(str(error))] * len(found)
            for (place, _), receipt in zip(found, receipts, strict=True):
                yield place, None if own else user, receipt

    def _stated(self, chat: exchange.Chat) -> Sequence[Receipt]:
        """Stores what the user stated in a chat; all of it waits for review."""
        rules = ExtractionRules(ref=chat.title, quarantine=_OF_A_CHAT)
        site = flows.extraction.ExtractionSite(
            access=self._access(), lens=self._lens(None), scope=self._own_scope(None),
            channel=self._channel, now=chat.at or self._now(), rules=rules,
        )  # fmt: skip
        return flows.extraction.by_rules(site, chat.turns, store=True).receipts

    @reads
    @needs("admin")
    def users(self, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Lists the ids of the users who have memories in the store; `for_user` opens them.

        Options:
            after: only those after this id: the last one of the page before.
            limit: the largest number of results, 1 to 1,000.
        """
        start = PREFIX if after is None else PREFIX + check_text(after, "after")
        most = None if limit is None else check_whole(limit, "limit", least=1)
        named = self._opened().ledger.namespaces(start, most)
        found = map(user_of, takewhile(lambda name: name.startswith(PREFIX), named))
        return [user_id for user_id in found if user_id is not None]

    @needs("erase")
    def delete_user(self, user_id: str) -> "DeletedNamespace":
        """Deletes all memories of a user for good: no backup and no archive brings them back.

        Only where the user speaks. Older backups still hold them; `left` names what is out of
        reach.
        """
        from memory_mesh.care.moves import delete_namespace

        if not is_authoritative(self._kind):
            raise NotAllowed("only the user can delete a user's memories for good")
        if not (store := self._config.store):
            store = str(self._opened().folder)
        return delete_namespace(store, user=user_id)


def refuse_existing(target: Path) -> None:
    """Raises InvalidInput for a file that is there, which an export would replace."""
    if target.exists():
        raise InvalidInput(f"{target} is there already: name another file, or remove it")


def row_of(memory: Memory) -> "exchange.Row":
    """A memory as a row: its record, and what was said of it, where something was."""
    metadata = {key: value for key, value in memory.extra.items() if key not in exchange.DETAILS}
    said: dict[str, Json] = {
        "kind": memory.label or memory.kind.value,
        "project": memory.scope.project,
        "tags": list(memory.tags),
        "source_ref": memory.source.ref,
        "source_kind": memory.source.kind.value,
    }
    for name in exchange.DETAILS:
        value = getattr(memory, name, None)
        if name not in said:
            said[name] = times.iso(value) if isinstance(value, datetime) else value
    given = {name: value for name, value in said.items() if value not in (None, [])}
    return record(memory) | given | {"metadata": metadata}


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    """A file that cannot be read or written, in words."""
    try:
        yield
    except MeshError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8: {error.reason}") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: {getattr(error, 'strerror', None) or error}") from error
