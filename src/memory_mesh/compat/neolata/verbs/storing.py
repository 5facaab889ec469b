"""Store memories."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.compat.neolata.model import (
    GraphCluster,
    GraphContext,
    GraphExcluded,
    GraphHits,
    GraphLink,
    GraphMemory,
    GraphMeta,
    GraphPacked,
    GraphPacking,
    GraphStep,
    GraphSupersession,
    GraphWhy,
)
from memory_mesh.context.packing import token_budget
from memory_mesh.mesh.options import AsOwner, Limit
from memory_mesh.model import (
    Claim,
    Draft,
    Hits,
    InvalidInput,
    Link,
    Memory,
    Query,
    Receipt,
    Scope,
    Status,
)
from memory_mesh.model.learning import ExtractionRules
from memory_mesh.model.pack import Pack, PackItem
from memory_mesh.model.why import Why
from memory_mesh.rules.arguments import check_limit, check_share, check_text

_THREADS = 8  # queries of one call that are answered at the same time
_DEEP_LIMIT = 100  # memories read to prefer a session or to count what is left out


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

        Without a provenance it counts as an inference.

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

    def ingest(
        self, agent: str, text: str, *, min_importance: float = translate.MIN_IMPORTANCE
    ) -> list[Receipt]:
        """Finds facts in a text and stores each, as an inference.

        A language model finds them, if one is set; else rules. If it does not answer, nothing is
        stored, and the text waits for the next call.

        Options:
            min_importance: leave out facts less important than this, 0 to 1.
        """
        name = translate.agent_name(agent)
        rules = ExtractionRules(
            min_importance=check_share(min_importance, "min_importance"), agent=name
        )
        self._load(name)
        own = Scope(self._mesh.config.project, name, self._mesh.config.session)
        receipts = list(self._mesh.learn._extract(text, rules, own).receipts)
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


# Follow links: between memories, in walks, in clusters; and replace what is outdated.


class GraphLinking(GraphStoring):
    """Methods that follow links; a walk shows what a reader of its first memory sees."""

    def links(self, memory_id: str, *, as_owner: AsOwner = False) -> list[GraphLink]:
        """All links of a memory, oldest first, each with the memory at its other end."""
        reader = self._reader(memory_id, as_owner=as_owner)
        return self._linked(self._mesh.graph.links(memory_id, scope=reader), {memory_id})

    def traverse(
        self,
        start_id: str,
        max_hops: int = 2,
        *,
        types: Iterable[str] = (),
        as_owner: AsOwner = False,
    ) -> list[GraphStep]:
        """Walk from a memory along links, and say what is reached, nearest first, at most 100.

        Active memories are reached, and those of the status that the first one has.

        Options:
            types: only links of these types, such as similar or related.
        """
        start = self._held(start_id, as_owner=as_owner)
        walk = self._mesh.graph.traverse(
            start_id, max_hops=max_hops, types=types, include={start.status}, scope=start.scope
        )
        shown = self._shown([step.memory for step in walk])
        return [
            GraphStep(memory, step.hops, _link(step.link, memory))
            for memory, step in zip(shown, walk, strict=True)
        ]

    def path(
        self,
        source_id: str,
        target_id: str,
        *,
        types: Iterable[str] = (),
        as_owner: AsOwner = False,
    ) -> list[GraphLink] | None:
        """The links of a shortest way between two memories; None if there is none.

        Options:
            types: only links of these types, such as similar or related.
        """
        source = self._held(source_id, as_owner=as_owner)
        target = self._held(target_id, as_owner=as_owner)
        found = self._mesh.graph.path(
            source_id,
            target_id,
            types=types,
            include={source.status, target.status},
            scope=source.scope,
        )
        return None if found is None else self._on_the_way(source_id, found)

    def clusters(
        self, min_size: int = 2, *, agent: str | None = None, as_owner: AsOwner = False
    ) -> list[GraphCluster]:
        """Groups of memories that links hold together, largest first, named by telling words.

        Options:
            agent: only memories that this agent sees; by default those of all agents.
        """
        lens = self._view(agent, None, {Status.ACTIVE}, as_owner=as_owner)
        found = [
            GraphCluster(each.label, each.terms, each.ids)
            for each in self._mesh._clusters(lens, check_limit(min_size, "min_size"))
        ]
        return found if self._keeper is None else self._keeper.labelled(found)

    def evolve(
        self,
        agent: str,
        text: str,
        *,
        category: str | None = None,
        importance: float | str = translate.IMPORTANCE,
        tags: Iterable[str] = (),
        provenance: Mapping[str, object] | None = None,
    ) -> Receipt:
        """Store a newer statement, and supersede the agent's memory on the same subject.

        If that one is trusted more, both stay and are linked. The receipt says which.

        Options:
            category: the sort of memory, such as fact or decision.
            importance: 0 to 1, or low, medium, high or critical.
            tags: words to group it by.
            provenance: where it comes from: a mapping with source and sourceId.
        """
        name = translate.agent_name(agent)
        options = translate.StoreOptions(
            category=category, importance=importance, tags=tags, provenance=provenance
        )
        draft = self._stated(name, text, options)
        self._load(name)
        receipt = self._mesh._evolve(draft)
        self._stored(name, [receipt])
        return receipt

    def _linked(self, links: Sequence[Link], ends: set[str]) -> list[GraphLink]:
        """The links, which a reader of one end sees, each with the memory at the other end."""
        others = [link.target if link.source in ends else link.source for link in links]
        found = self._shown(self._found(list(dict.fromkeys(others)), as_owner=True))
        shown = {memory.id: memory for memory in found}
        return [
            _link(link, shown[other])
            for link, other in zip(links, others, strict=True)
            if other in shown
        ]

    def _on_the_way(self, start: str, links: Sequence[Link]) -> list[GraphLink]:
        """The links of a path, each with the memory that it leads to."""
        way, here = list[GraphLink](), start
        for link in links:
            way += self._linked([link], {here})
            here = link.target if link.source == here else link.source
        return way


def _link(link: Link, memory: GraphMemory) -> GraphLink:
    return GraphLink(link.source, link.target, link.type, link.similarity, link.at, memory)


# Ask why a memory is as it is.


class GraphExplaining(GraphLinking):
    """Methods that explain."""

    def explain_memory(self, memory_id: str, *, as_owner: AsOwner = False) -> GraphWhy:
        """Say why a memory is as it is: the parts of its trust, links, conflicts, provenance."""
        held = self._held(memory_id, as_owner=as_owner)
        why, memory = self._why(held), self._one(held)
        return GraphWhy(
            memory,
            why.sentences,
            why.trust,
            memory.provenance,
            tuple(self._linked(why.links, {memory_id})),
            why.conflicts,
            why,
        )

    def explain_supersession(
        self, memory_id: str, *, as_owner: AsOwner = False
    ) -> GraphSupersession:
        """Say what superseded what, oldest first, and why each memory gave way."""
        held = self._held(memory_id, as_owner=as_owner)
        why = self._why(held)
        chain = why.chain or (held,)
        return GraphSupersession(
            self._one(held),
            tuple(self._shown(chain)),
            why.rationale,
            why.sentences,
        )

    def _why(self, memory: Memory) -> Why:
        """As a reader of the memory would be told."""
        return self._mesh.explain(memory.id, scope=memory.scope)


# Search memories.


class GraphSearching(GraphView):
    """Methods that search memories."""

    def search(
        self,
        agent: str | None,
        query: str,
        *,
        limit: Limit = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: str | Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> GraphHits:
        """The best memories of an agent for a question, or of all agents where none is named.

        Options:
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        more = {
            Status.SUPERSEDED: include_superseded,
            Status.DISPUTED: include_disputed,
            Status.QUARANTINED: include_quarantined,
        }
        lens = self._view(
            agent,
            session_id,
            translate.statuses_of(status_filter, everything=include_all, more=more),
        )
        lens = replace(lens, where=translate.between(after, before))
        asked = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            "composite",
            weights=translate.weights_of(rerank),
            min_similarity=check_share(min_similarity, "min_similarity"),
        )
        return self._answered(asked, explain=explain)

    def search_many(
        self,
        agent: str | None,
        queries: Iterable[str],
        *,
        limit: Limit = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: str | Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> list[GraphHits]:
        """Up to 100 questions at once, each answered as by `search`, in the order asked.

        Options:
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        from concurrent.futures import ThreadPoolExecutor

        asked = translate.bounded("queries", queries, translate.MAX_QUERIES)
        statuses = status_filter if isinstance(status_filter, str) else tuple(status_filter)

        def answer(query: str) -> GraphHits:
            return self.search(
                agent,
                query,
                limit=limit,
                min_similarity=min_similarity,
                before=before,
                after=after,
                rerank=rerank,
                include_all=include_all,
                status_filter=statuses,
                include_superseded=include_superseded,
                include_disputed=include_disputed,
                include_quarantined=include_quarantined,
                session_id=session_id,
                explain=explain,
            )

        with ThreadPoolExecutor(_THREADS, thread_name_prefix="memory-graph") as pool:
            return list(pool.map(answer, asked))

    def _answered(self, asked: Query, *, explain: bool) -> GraphHits:
        session = asked.lens.scope.session
        deep = asked if session is None else replace(asked, limit=max(_DEEP_LIMIT, asked.limit))
        found = self._mesh._recall(deep)
        ordered, preferred = translate.session_first(found, session)
        best = ordered[: asked.limit]
        memories = self._shown([hit.memory for hit in best])
        hits = [
            translate.as_hit(
                memory,
                hit.score,
                translate.explained(hit, preferred=hit.id in preferred) if explain else None,
            )
            for memory, hit in zip(memories, best, strict=True)
        ]
        return GraphHits(hits, self._counted(asked, found, len(hits)) if explain else None)

    def _counted(self, asked: Query, found: Hits, returned: int) -> GraphMeta:
        """The search in numbers; what its statuses leave out is looked for once more."""
        hidden = replace(asked.lens, statuses=translate.VISIBLE - asked.lens.statuses)
        left: Counter[str] = Counter()
        if hidden.statuses:
            unseen = self._mesh._recall(
                replace(asked, lens=hidden, limit=_DEEP_LIMIT), recorded=False
            )
            left.update(hit.memory.status.value for hit in unseen)
        explanation = found.explanation
        return GraphMeta(
            returned=returned,
            found_by_keyword=explanation.found_by_keyword,
            found_by_vector=explanation.found_by_vector,
            awaiting_vectors=explanation.pending,
            weights=asked.weights,
            filtered_by_status=dict(left),
            note=explanation.note,
        )


class GraphPrompting(GraphView):
    """Methods that fill a prompt."""

    def context(
        self,
        agent: str | None,
        query: str,
        *,
        max_memories: int = 15,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        max_tokens: int | None = None,
        explain: bool = False,
    ) -> GraphContext:
        """The memories of an agent that a prompt should have, as plain text under a budget.

        What `search` finds and what is linked to it compete by composite score per estimated token.
        Only active memories that the agent sees take part. The text never has more than
        `max_tokens` by `estimate_tokens`. `MemoryMesh.context` fences the text, and counts high.

        Options:
            max_memories: the largest number of memories, 1 to 1,000.
            before: only memories from before this time.
            after: only memories of this time or later.
            max_tokens: the most tokens of the text; by default 2,000.
            explain: say how each score came about and what was left out.
        """
        lens = replace(
            self._view(agent, None, {Status.ACTIVE}), where=translate.between(after, before)
        )
        wanted = token_budget.PackRules(
            max_tokens=token_budget.budget(max_tokens, None),
            profile="composite",
            max_memories=check_limit(max_memories),
            min_relevance=0.0,
            price=translate.estimate_tokens,
            format=token_budget.PLAIN,
            count=lambda text: translate.estimate_tokens(text) if text else 0,
            counted_by="estimate_tokens",
        )
        pack = self._mesh._packed(check_text(query, "query"), lens, wanted, record=True)
        shown = self._shown([item.memory for item in pack])
        return GraphContext(
            pack.text,
            tuple(
                translate.as_hit(memory, item.score or 0.0)
                for memory, item in zip(shown, pack, strict=True)
            ),
            pack.tokens,
            _decisions(pack) if explain else None,
        )


def _decisions(pack: Pack) -> GraphPacking:
    return GraphPacking(
        tuple(map(_packed, pack)),
        tuple(GraphExcluded(one.id, one.by.value, one.score, one.because) for one in pack.left_out),
        pack.max_tokens,
        pack.counted_by,
        pack.injection_id,
    )


def _packed(item: PackItem) -> GraphPacked:
    tokens = translate.estimate_tokens(item.memory.text)
    density = None if item.score is None else item.score / tokens
    return GraphPacked(
        item.id, item.section.value, item.score, tokens, density, item.because, item.cut
    )
