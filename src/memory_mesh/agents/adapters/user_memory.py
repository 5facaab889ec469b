"""What adapters of agent frameworks share: the memory of one user, two tools, and exact records.

::

    a run ── recall ──▶ fenced memories for its question ── the framework's model ──▶ an answer
                                                                    │
                       what the user said, or the exchange ◀── remember

Recall has a time limit, and a failure of memory is logged: no run fails for it. An adapter works
with the user whose mesh it was given: `mesh.for_user(id)`.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise

from memory_mesh.agents.adapters.exchange_memory import Exchange, blocking, failed
from memory_mesh.base.typed import TYPE_CHECKING, TypeVar, dataclass, replace
from memory_mesh.formats.private import split_private, without_private
from memory_mesh.model import (
    Channel,
    InvalidInput,
    Memory,
    MeshError,
    NotAllowed,
    Outcome,
    Scope,
    SourceKind,
)
from memory_mesh.rules.arguments import MAX_RESULTS
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

PATIENCE_SECONDS = 5.0  # after which a run goes on without memories
_UNANSWERED = "(no answer)"
Result = TypeVar("Result")


async def patient(what: str, work: Callable[[], Result], otherwise: Result) -> Result:
    """Works in a thread; what fails or takes too long is logged, and the run goes on without it."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(work), PATIENCE_SECONDS)
    except Exception as error:  # noqa: BLE001  # the last line of a surface: no run fails for it
        failed(what, error)
        return otherwise


@dataclass(frozen=True, slots=True)
class Said:
    """One text of a conversation: whose it is, and a key that tells it from every other."""

    by_user: bool
    text: str
    key: str | None = None


class UserMemory:
    """Recalls for a run and remembers after it; the tools are for the model itself."""

    def __init__(self, mesh: "MemoryMesh | AsyncMesh", max_tokens: int | None = None) -> None:
        """Keep the mesh; whoever opened it closes it."""
        self.mesh = blocking(mesh)
        self._max_tokens = max_tokens

    def exchange(self, said: str, key: str | None = None) -> Exchange | None:
        """What begins with the user's words; None if none were said but private ones.

        With a key, what the user said is stored once, however often it is handed in.
        """
        question, private = without_private(said).strip(), split_private(said)[1].strip()
        return (
            Exchange(self.mesh, question, keeps_answer=not private, key=key) if question else None
        )

    async def recall(self, exchange: Exchange | None) -> str:
        """The memories as fenced text; empty if there are none, and if memory fails or is slow."""
        if exchange is None:
            return ""
        return await patient("recall memories", lambda: exchange.recall(self._max_tokens), "")

    async def remember(self, exchange: Exchange | None, answer: str) -> None:
        """Keeps what is worth it."""
        if exchange is not None and answer.strip():
            await patient("remember the exchange", lambda: exchange.remember(answer), None)

    async def remember_all(self, said: Sequence[Said]) -> None:
        """Keeps a conversation: each text of the user with the answer that follows it."""
        for one, after in pairwise([*said, Said(by_user=True, text="")]):
            if one.by_user:
                answer = "" if after.by_user else after.text
                await self.remember(self.exchange(one.text, one.key), answer or _UNANSWERED)

    def recall_memories(self, query: str) -> str:
        """Search long-term memory for what is known about the user, the project and past work."""
        return self._told(lambda: str(self.mesh.context(query, max_tokens=self._max_tokens)))

    def remember_memory(self, text: str) -> str:
        """Keep one durable fact, decision or preference in long-term memory, in one sentence."""
        return self._told(lambda: self._remembered(text))

    def _remembered(self, text: str) -> str:
        receipt = self.mesh.view(channel=Channel.ASSISTANT).add(without_private(text))
        return f"{receipt.outcome}: {'; '.join(receipt.reasons)}"

    def _told(self, work: Callable[[], str]) -> str:
        """What a tool answers; an error of memory is told to the model and ends no run."""
        try:
            return work() or "Nothing is remembered about that."
        except MeshError as error:
            return f"Memory did not answer: {error}"


class Records:
    """Texts kept to the letter under references: not merged, and not read for claims."""

    def __init__(self, mesh: MemoryMesh, kind: str, *, namespace: str | None = None) -> None:
        """Records of one kind in a namespace of the same store."""
        self._kind = kind
        view = mesh.view(namespace=namespace, scope=Scope())
        view._config = replace(view.config, read_claims=False)  # noqa: SLF001  # of our own package
        self._view = view

    def find(self, test: str = "") -> list[Memory]:
        """Those that a filter finds, all by default; the newest first."""
        own = f"label = {quoted(self._kind)}" + (f" AND {test}" if test else "")
        page = self._view.get_all(limit=MAX_RESULTS, filter=own)
        found = list(page)
        while page.cursor is not None:
            page = self._view.get_all(limit=MAX_RESULTS, filter=own, cursor=page.cursor)
            found += page
        return found

    def add(self, texts: Sequence[tuple[str, str, object]]) -> None:
        """Adds records in one transaction each 256: reference, text and value."""
        items = [
            {
                "content": text,
                "metadata": {"value": value},
                "kind": self._kind,
                "source_kind": SourceKind.INFERENCE,
                "source_ref": ref,
                "allow_duplicate": True,
            }
            for ref, text, value in texts
        ]
        for receipt in self._view.add_many(items) if items else ():
            if receipt.outcome is not Outcome.STORED:
                raise InvalidInput(f"this was not stored: {'; '.join(receipt.reasons)}")

    def change(self, memory: Memory, text: str, value: object) -> None:
        """Records a new version."""
        self._view.update(memory.id, text, {"value": value}, reason="edited by the assistant")

    def delete(self, memories: Sequence[Memory]) -> None:
        """Deletes records; the user's own word stays, and the wish waits for review."""
        for memory in memories:
            if self._view.delete(memory.id, reason="deleted by the assistant") is not None:
                raise NotAllowed(
                    "this is the user's own word: the wish to delete it waits for review"
                )


def quoted(text: str) -> str:
    """A text as a filter has it."""
    return "'" + text.replace("'", "''") + "'"
