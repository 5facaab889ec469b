"""The verbs of what is learned: lessons, heritage, reflection, review.

`memory_mesh.sync.MemoryMesh` has them all. What they need is imported when one is used: storing and
searching must not pay for it.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Channel, Heritage, Memory, Scope, SourceKind
from memory_mesh.model.record import heritage_json, read_heritage
from memory_mesh.policy.arguments import check_limit, check_share, check_text
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.view import OpenMesh

if TYPE_CHECKING:
    from memory_mesh.model.learning import Distillation, LessonBlock, LessonContext, Reflection

_WORST_FIRST = "severity desc"


class Wisdom(OpenMesh):
    """What RFC-0011 sections 4.1 and 8 add to storing and searching."""

    def distill_lesson(
        self, context: "LessonContext | Mapping[str, object]", *, scope: Scope | None = None
    ) -> "LessonBlock":
        """Teach one lesson from a failure; one that is known no less certainly is returned.

        From a source other than the user or the system it is quarantined until `review`.
        """
        from memory_mesh.flows import lessons
        from memory_mesh.policy.learning.failures import context_of

        given = context_of(context)
        return lessons.distill_lesson(self._desk(), given, self._own_scope(scope), self._source())

    def receive_lesson(self, wire_format: str, *, scope: Scope | None = None) -> "LessonBlock":
        """Learn from another agent's LessonLearned block; it waits for review before it counts."""
        from memory_mesh.flows import lessons

        source = replace(self._source(), channel=Channel.IMPORT, kind=SourceKind.DOCUMENT)
        context = lessons.read_wire(check_text(wire_format, "wire_format"))
        return lessons.distill_lesson(self._desk(), context, self._own_scope(scope), source)

    def query_lessons(
        self,
        query: str = "",
        *,
        limit: int = 10,
        order_by: str | None = None,
        min_confidence: float | None = None,
        scope: Scope | None = None,
        filter: str | None = None,
    ) -> "list[LessonBlock]":
        """Active lessons that answer a question, or all of them; certain and recent enough.

        `order_by="severity DESC"` puts critical before high, medium and low.
        """
        from memory_mesh.flows import lessons

        if order_by is not None and " ".join(str(order_by).lower().split()) != _WORST_FIRST:
            message = f'order_by can be "severity DESC", not {order_by!r}'
            raise InvalidInput(message)
        least = self._config.lesson_min_confidence
        if min_confidence is not None:
            least = check_share(min_confidence, "min_confidence")
        since = self._now() - timedelta(days=self._config.lesson_retention_days)
        lens = lessons.lens_on_lessons(self._lens(scope, filter=filter), least, since)
        return lessons.query_lessons(
            self._opened().reader(),
            check_text(query, "query"),
            lens,
            limit=check_limit(limit),
            worst_first=order_by is not None,
        )

    def get_memories_by_pattern(
        self, pattern_id: str, *, scope: Scope | None = None, limit: int = 100
    ) -> list[Memory]:
        """The lessons with this pattern id that can be seen, newest first."""
        from memory_mesh.flows import lessons

        lens = lessons.lens_on_lessons(self._lens(scope), 0.0, None, check_text(pattern_id, "id"))
        with self._opened().ledger.read(self._config.namespace) as snapshot:
            return list(snapshot.page(lens, check_limit(limit), None))

    def distill(self, *, scope: Scope | None = None) -> "Distillation":
        """Make lessons of the failures of the last day and of those that came twice in a week.

        May be interrupted at any point and run again; run twice, it changes nothing. The answer's
        `constraints` are what an agent should hear at the start of its next session.
        """
        from memory_mesh.flows import lessons

        reader, now = self._reader(scope), self._now()
        done = lessons.cycle(self._desk(), now, reader, self._channel)
        worst = self.query_lessons(
            "", limit=lessons.INJECTED, order_by="severity DESC", scope=scope
        )
        return replace(done, constraints=tuple(block.preventative_rule for block in worst))

    def distillation_due(self) -> bool:
        """Whether a host's heartbeat should call `distill`: four times a day, if there is news."""
        from memory_mesh.flows import lessons

        return lessons.due(self._desk(), self._now())

    def insert_heritage(
        self,
        memory_id: str,
        heritage: Heritage | Mapping[str, object],
        *,
        scope: Scope | None = None,
    ) -> Memory:
        """Give a memory the intents, hypotheses and rationales behind it; the newest are kept."""
        from memory_mesh.flows import change

        plain = heritage_json(heritage) if isinstance(heritage, Heritage) else heritage
        chain = read_heritage(check_metadata(plain))
        depth = self._config.max_heritage_depth
        return change.inherit(self._desk(), memory_id, self._reader(scope), chain, depth)

    def reflect(
        self,
        *,
        topic: str | None = None,
        lookback: int = 10,
        store: bool = True,
        scope: Scope | None = None,
    ) -> "Reflection":
        """What the memories on a topic, or the newest, say together, each belief with its ids.

        It is kept unless told not to. A language model words it where one is given; where that
        fails, the memories' own words are the answer.
        """
        from memory_mesh.flows import learn

        parts = self._opened()
        return learn.reflect(
            parts.reader(),
            parts.desk(),
            self._lens(scope),
            topic=None if topic is None else check_text(topic, "topic"),
            lookback=lookback,
            store=store,
            llm=(self._llm or parts.llm()) if self._config.enable_llm else None,
            max_tokens=self._config.llm_max_tokens,
        )
