"""Add, read, change and delete memories."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Unpack

from memory_mesh import flows
from memory_mesh.errors import NotFound
from memory_mesh.model import (
    Draft,
    Heritage,
    Memory,
    Page,
    Receipt,
    Scope,
    Status,
)
from memory_mesh.model.record import heritage_json, read_heritage
from memory_mesh.policy.arguments import check_limit
from memory_mesh.policy.audience import sees
from memory_mesh.policy.writing.drafts import Details, alteration
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.view import View


class MemoryVerbs(View):
    """The verbs of single memories."""

    def add(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """Store one memory; the receipt says what became of it and why."""
        return self.add_many([self._draft(content, metadata, details)])[0]

    def ingest(
        self,
        content: str,
        metadata: Mapping[str, object] | None = None,
        **details: Unpack[Details],
    ) -> Receipt:
        """The same as `add`, for ever."""
        return self.add(content, metadata, **details)

    def add_many(
        self,
        items: Iterable[str | Mapping[str, object] | Draft],
        *,
        progress: Callable[[int], None] | None = None,
    ) -> list[Receipt]:
        """Store many in slices of 256, each one transaction; a receipt for each, in order.

        An item is a text, or a mapping with `content`, `metadata` and any detail of `add`. Give
        each a `key` and an interrupted load can simply be run again. `progress` hears the count.
        """
        drafts = [self._drafted(item) for item in items]
        return flows.remember.remember(self._access(), drafts, progress)

    def get(
        self,
        memory_id: str,
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> Memory | None:
        """One memory, or None when there is none to see; opening it counts as use."""
        found = self.get_many(
            [memory_id], scope=scope, as_of=as_of, valid_at=valid_at, include=include
        )
        return found[0] if found else None

    def get_many(
        self,
        ids: Sequence[str],
        *,
        scope: Scope | None = None,
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        include: Iterable[Status | str] = (),
    ) -> list[Memory]:
        """Those of the memories that can be seen, in the order asked."""
        lens = self._lens(scope, as_of=as_of, valid_at=valid_at, include=include)
        return flows.recall.open_memories(self._access(), list(ids), lens)

    def get_all(
        self,
        *,
        limit: int = 100,
        filter: str | None = None,
        cursor: str | None = None,
        scope: Scope | None = None,
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
    ) -> Page:
        """Memories newest first, `limit` at a time; the list's `cursor` asks for the rest."""
        lens = self._lens(
            scope,
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )
        with self._read() as snapshot:
            return snapshot.page(lens, check_limit(limit), cursor)

    def history(self, memory_id: str, *, scope: Scope | None = None) -> list[Memory]:
        """Every recorded version of one memory, oldest first."""
        with self._read() as snapshot:
            versions = snapshot.history(memory_id)
        reader = self._reader(scope)
        return [version for version in versions if sees(reader, version.scope)]

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        metadata: Mapping[str, object] | None = None,
        *,
        merge: bool = False,
        reader: Scope | None = None,
        reason: str = "updated by the caller",
        **details: Unpack[Details],
    ) -> Memory:
        """Record a new version; what is not given stays.

        Metadata is replaced as a whole, or with `merge` key by key.
        """
        alter = alteration(content, metadata, details, channel=self._channel, merge=merge)
        return flows.change.update(
            self._access(), memory_id, self._reader(reader), alter, text=content, reason=reason
        )

    def pin(self, memory_id: str, *, pinned: bool = True, scope: Scope | None = None) -> Memory:
        """Mark a memory as always wanted, or take the mark away."""
        return flows.change.pin(self._access(), memory_id, self._reader(scope), pinned=pinned)

    def delete(
        self, memory_id: str, *, scope: Scope | None = None, reason: str = "deleted by the caller"
    ) -> None:
        """Hide a memory from every read of the present; restorable for 30 days."""
        flows.change.delete(self._access(), memory_id, self._reader(scope), reason)

    def restore(self, memory_id: str, *, scope: Scope | None = None) -> Memory:
        """Bring a deleted memory back as it was."""
        return flows.change.restore(self._access(), memory_id, self._reader(scope))

    def mark_superseded(self, memory_id: str, *, by: str) -> bool:
        """Close an imported memory that waits for review, because its source names a newer one.

        Returns False and changes nothing where the memory was approved meanwhile.
        """
        return flows.change.mark_superseded(self._access(), memory_id, by)

    def rate(self, memory_id: str, *, helpful: bool, scope: Scope | None = None) -> None:
        """Say whether a recalled memory was of use; votes are counted, nothing else changes."""
        lens = self._lens(scope)
        with self._read() as snapshot:
            if not snapshot.get([memory_id], lens):
                raise NotFound
        self._opened().ledger.vote(self._config.namespace, memory_id, helpful=helpful)

    def insert_heritage(
        self,
        memory_id: str,
        heritage: Heritage | Mapping[str, object],
        *,
        scope: Scope | None = None,
    ) -> Memory:
        """Give a memory the intents, hypotheses and rationales behind it; the newest are kept."""
        plain = heritage_json(heritage) if isinstance(heritage, Heritage) else heritage
        chain = read_heritage(check_metadata(plain))
        depth = self._config.max_heritage_depth
        return flows.change.inherit(self._access(), memory_id, self._reader(scope), chain, depth)
