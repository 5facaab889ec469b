"""Learn lessons from failures, and ask for them."""

import os
from collections.abc import Mapping
from datetime import timedelta

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.options import Audience, Condition, Limit, Reader
from memory_mesh.mesh.view import View
from memory_mesh.model import Channel, InvalidInput, Memory, SourceKind
from memory_mesh.platform.git_files import top_of
from memory_mesh.rules.arguments import check_limit, check_share, check_text
from memory_mesh.search.triggers.actions import action_of

if TYPE_CHECKING:
    from memory_mesh.model.learning import (
        ActionWarning,
        Distillation,
        LessonBlock,
        LessonContext,
        Reflection,
    )
from memory_mesh.base.typed import TYPE_CHECKING

_WORST_FIRST = "severity desc"


class LessonVerbs(View):
    """Rules learned from failures, and what memories agree on: `mesh.lessons`."""

    def record(
        self,
        context: "LessonContext | Mapping[str, object] | str",
        *,
        when: str | None = None,
        enforce: bool = False,
        scope: Audience = None,
    ) -> "LessonBlock":
        """Stores one lesson, or returns the stored one if it is as certain.

        The rule as a text; or, from a failure, a LessonContext or a mapping with situation,
        error_pattern, oversight, fix, preventative_rule, severity and applicable_scope, each a
        text.

        A lesson from a source other than the user or the system is quarantined until `review`.

        Options:
            when: the situation in which a rule given as a text applies; by default every task. A
                command in backticks is what the rule warns of.
            enforce: let a hook refuse what repeats it, instead of saying so once in a session.
        """
        from memory_mesh.learn.rules.failures import context_of

        given = context_of(context, when)
        return flows.lessons.distill_lesson(
            self._access(), given, self._own_scope(scope), self._source(), enforce=enforce
        )

    def receive(self, wire_format: str, *, scope: Audience = None) -> "LessonBlock":
        """Stores a lesson from another agent's LessonLearned block; it is used after review."""
        source = replace(self._source(), channel=Channel.IMPORT, kind=SourceKind.DOCUMENT)
        context = flows.lessons.read_wire(check_text(wire_format, "wire_format"))
        return flows.lessons.distill_lesson(self._access(), context, self._own_scope(scope), source)

    @reads
    def search(
        self,
        query: str = "",
        *,
        limit: Limit = 10,
        order_by: str | None = None,
        min_confidence: float | None = None,
        scope: Reader = None,
        filter: Condition = None,
    ) -> "list[LessonBlock]":
        """Returns active lessons for a question, or all; old and uncertain ones are left out.

        Options:
            order_by: "severity DESC" puts critical before high, medium and low.
            min_confidence: in place of the setting lesson_min_confidence, 0 to 1.
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
            flows.pack.lens_on_lessons(self._lens(scope, filter=filter), least, since),
            limit=check_limit(limit),
            worst_first=order_by is not None,
        )

    __call__ = search

    @reads
    def about(
        self,
        command: str = "",
        *,
        file: str = "",
        folder: str | None = None,
        scope: Reader = None,
    ) -> "list[ActionWarning]":
        """Returns the lessons that a command, or an edit of a file, would repeat.

        Calls are compared by program, subcommand, flags and targets, in whatever order and spelling
        and behind `sudo`, `cd` or `bash -c`; what is only quoted or shown runs nothing.

        Options:
            file: the path of a file that is to be written, instead of a command.
            folder: where it would run; by default the current folder.
        """
        here = folder or self._folder or os.getcwd()  # noqa: PTH109  # pathlib costs more
        said, path = check_text(command, "command"), check_text(file, "file")
        action = action_of(said, path, here)
        home = here if self._folder == "" else top_of(here) or here  # not None
        return flows.warnings.warnings(self._access(), self._lens(scope), action, home)

    @reads
    def with_pattern(
        self, pattern_id: str, *, scope: Reader = None, limit: Limit = 100
    ) -> list[Memory]:
        """Returns the visible lessons with this pattern id, newest first."""
        lens = flows.pack.lens_on_lessons(
            self._lens(scope), 0.0, None, check_text(pattern_id, "id")
        )
        with self._read() as snapshot:
            return list(snapshot.page(lens, check_limit(limit), None))

    def distill(self, *, scope: Reader = None) -> "Distillation":
        """Makes lessons from failures of the last day, or that occurred twice in a week.

        A failure is a memory with `status` error or failed in its metadata, or a note that tells of
        one. The rule is the stated one, else what follows from the fix that the text tells of.
        May be interrupted at any point and run again; run twice, it changes nothing. The answer's
        `constraints` are what an agent should hear at the start of its next session.
        """
        reader, now = self._reader(scope), self._now()
        done = flows.lessons.cycle(self._access(), now, reader, self._channel)
        worst = self.search("", limit=flows.pack.INJECTED, order_by="severity DESC", scope=scope)
        return replace(done, constraints=tuple(block.preventative_rule for block in worst))

    @reads
    def due(self) -> bool:
        """True if `distill` should run: after six hours, if something was stored since."""
        return flows.lessons.due(self._access(), self._now())

    def reflect(
        self,
        *,
        topic: str | None = None,
        lookback: int | None = None,
        store: bool = True,
        scope: Reader = None,
    ) -> "Reflection":
        """Summarizes the memories on a topic, or the newest: what several say, and how many.

        Each statement names its ids. What only one memory says is counted, not repeated, unless all
        of it fits. The reflection is stored unless `store` is False. A configured language model
        writes the text; if it fails, the words of the memories are used. Without `lookback`, 50
        memories are looked at, or 10 if a model writes.

        Options:
            topic: what the memories are about; by default the newest are taken.
            lookback: the number of memories to look at.
            store: keep the reflection as a memory.
        """
        return flows.lessons.reflect(
            self._access(),
            self._lens(scope),
            topic=None if topic is None else check_text(topic, "topic"),
            lookback=lookback,
            store=store,
            llm=self._metered_llm("reflect"),
            max_tokens=self._config.llm_max_tokens,
        )
