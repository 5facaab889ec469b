"""Learn lessons from failures, and ask for them."""

from collections.abc import Mapping
from datetime import timedelta

from memory_mesh import flows
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    Channel,
    Memory,
    Scope,
    SourceKind,
)
from memory_mesh.policy.arguments import check_limit, check_share, check_text
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.model.learning import Distillation, LessonBlock, LessonContext
from memory_mesh.typed import TYPE_CHECKING

_WORST_FIRST = "severity desc"


class LessonVerbs(View):
    """Methods for lessons (RFC-0011, sections 4.1 and 8)."""

    def distill_lesson(
        self, context: "LessonContext | Mapping[str, object]", *, scope: Scope | None = None
    ) -> "LessonBlock":
        """Stores one lesson from a failure, or returns the stored one if it is as certain.

        A lesson from a source other than the user or the system is quarantined until `review`.

        Options:
            scope: the project, agent and session that may see it.
        """
        from memory_mesh.policy.learning.failures import context_of

        given = context_of(context)
        return flows.lessons.distill_lesson(
            self._access(), given, self._own_scope(scope), self._source()
        )

    def receive_lesson(self, wire_format: str, *, scope: Scope | None = None) -> "LessonBlock":
        """Stores a lesson from another agent's LessonLearned block; it is used after review.

        Options:
            scope: the project, agent and session that may see it.
        """
        source = replace(self._source(), channel=Channel.IMPORT, kind=SourceKind.DOCUMENT)
        context = flows.lessons.read_wire(check_text(wire_format, "wire_format"))
        return flows.lessons.distill_lesson(self._access(), context, self._own_scope(scope), source)

    def query_lessons(
        self,
        query: str = "",
        *,
        limit: int = 10,
        order_by: str | None = None,
        min_confidence: float | None = None,
        scope: Scope | None = None,
        filter: str | Mapping[str, object] | None = None,
    ) -> "list[LessonBlock]":
        """Returns active lessons for a question, or all; old and uncertain ones are left out.

        Options:
            limit: the largest number of results, 1 to 1,000.
            order_by: "severity DESC" puts critical before high, medium and low.
            min_confidence: in place of the setting lesson_min_confidence, 0 to 1.
            scope: who reads; by default the project, agent and session of this mesh.
            filter: a condition, such as "team = 'core' AND priority >= 3", or a mapping.
        """
        if order_by is not None and " ".join(str(order_by).lower().split()) != _WORST_FIRST:
            raise InvalidInput(f'order_by can be "severity DESC", not {order_by!r}')
        least = self._config.lesson_min_confidence
        if min_confidence is not None:
            least = check_share(min_confidence, "min_confidence")
        since = self._now() - timedelta(days=self._config.lesson_retention_days)
        return flows.lessons.query_lessons(
            self._access(),
            check_text(query, "query"),
            flows.lessons.lens_on_lessons(self._lens(scope, filter=filter), least, since),
            limit=check_limit(limit),
            worst_first=order_by is not None,
        )

    def get_memories_by_pattern(
        self, pattern_id: str, *, scope: Scope | None = None, limit: int = 100
    ) -> list[Memory]:
        """Returns the visible lessons with this pattern id, newest first.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
            limit: the largest number of results, 1 to 1,000.
        """
        lens = flows.lessons.lens_on_lessons(
            self._lens(scope), 0.0, None, check_text(pattern_id, "id")
        )
        with self._read() as snapshot:
            return list(snapshot.page(lens, check_limit(limit), None))

    def distill(self, *, scope: Scope | None = None) -> "Distillation":
        """Makes lessons from failures of the last day, or that occurred twice in a week.

        A failure is a memory with `status` error or failed in its metadata, or a note that tells of
        one. The rule is the stated one, else what follows from the fix that the text tells of.
        May be interrupted at any point and run again; run twice, it changes nothing. The answer's
        `constraints` are what an agent should hear at the start of its next session.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
        """
        reader, now = self._reader(scope), self._now()
        done = flows.lessons.cycle(self._access(), now, reader, self._channel)
        worst = self.query_lessons(
            "", limit=flows.lessons.INJECTED, order_by="severity DESC", scope=scope
        )
        return replace(done, constraints=tuple(block.preventative_rule for block in worst))

    def distillation_due(self) -> bool:
        """True if `distill` should run: after six hours, if something was stored since."""
        return flows.lessons.due(self._access(), self._now())
