"""Store memories."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Claim, Draft, Receipt, Scope
from memory_mesh.policy.arguments import check_limit


class GraphStoring(GraphView):
    """Methods that store memories."""

    def store(
        self,
        agent: str,
        text: str,
        *,
        category: str | None = None,
        importance: float | str = translate.IMPORTANCE,
        tags: Iterable[str] = (),
        event_time: datetime | str | None = None,
        claim: Claim | Mapping[str, object] | None = None,
        provenance: Mapping[str, object] | None = None,
        quarantine: bool | str | None = None,
        on_conflict: str = "quarantine",
    ) -> Receipt:
        """Store one memory; the receipt says what became of it and why.

        Without a provenance it counts as an inference. Importance is at most 0.5 from others than
        `user_explicit` and `system`.

        Options:
            category: the sort of memory, such as fact or decision.
            importance: 0 to 1, or low, medium, high or critical.
            tags: words to group it by.
            event_time: when it happened.
            claim: what it states: a mapping with subject, predicate and value.
            provenance: where it comes from: a mapping with source and sourceId.
            quarantine: keep it for review; a text is the reason.
            on_conflict: quarantine it or keep_active, where it contradicts a more trusted memory.
        """
        options = translate.StoreOptions(
            category=category,
            importance=importance,
            tags=tags,
            event_time=event_time,
            claim=claim,
            provenance=provenance,
            quarantine=quarantine,
            on_conflict=on_conflict,
        )
        name = translate.agent_name(agent)
        draft = self._stated(name, text, options)
        self._load(name)
        receipts = self._mesh.add_many([draft])
        self._stored(name, receipts)
        return receipts[0]

    def store_many(
        self,
        agent: str,
        items: Iterable[str | Mapping[str, object]],
        *,
        embedding_batch_size: int = translate.BATCH,
    ) -> list[Receipt]:
        """Store up to 1,000, each judged as by `store`; all are checked before any is written.

        An item is a text, or a mapping with `text` and any option of `store`.

        Options:
            embedding_batch_size: the number of texts that are embedded at once.
        """
        name, size = translate.agent_name(agent), check_limit(embedding_batch_size)
        drafts = [
            self._item(name, each)
            for each in translate.bounded("items", items, translate.MAX_ITEMS)
        ]
        self._load(name)
        receipts: list[Receipt] = []
        try:
            for start in range(0, len(drafts), size):
                receipts += self._mesh.add_many(drafts[start : start + size])
        finally:
            self._stored(name, receipts)
        return receipts

    def _stated(self, agent: str, text: object, options: Mapping[str, object]) -> Draft:
        """A draft for one agent and by it."""
        content, details = translate.details_of(text, options)
        scope = Scope(self._mesh.config.project, agent, self._mesh.config.session)
        why = details.get("quarantine")
        metadata = None if why is None else {"quarantine": why}
        return self._mesh._draft(
            content, metadata, details | {"scope": scope, "source_agent": agent}
        )

    def _item(self, agent: str, item: object) -> Draft:
        if isinstance(item, str):
            return self._stated(agent, item, {})
        if not isinstance(item, Mapping):
            raise InvalidInput("an item must be a text, or a mapping with text and options")
        return self._stated(
            agent, item.get("text"), {name: item[name] for name in item if name != "text"}
        )
