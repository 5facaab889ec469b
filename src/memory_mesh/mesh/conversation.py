"""`MemoryContextManager` (RFC-0011 section 4.3), blocking: memory for a conversation loop.

Capture keeps what is worth keeping and says why it did not; recall counts as use; what goes into a
prompt is fenced. An exchange is the assistant's word as much as the user's, so all of it has the
trust of an inference. `memory_mesh.MemoryContextManager` is its async twin (async_mesh.py).
"""

from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from os import PathLike

from memory_mesh.base.typed import Unpack, dataclass, replace
from memory_mesh.context import fence as prompt_text
from memory_mesh.learn.health import checkup
from memory_mesh.learn.rules import capture
from memory_mesh.mesh.mesh import MemoryMesh
from memory_mesh.mesh.operation import Operations, constructor
from memory_mesh.mesh.options import MeshOptions, Reader
from memory_mesh.model import (
    Channel,
    Check,
    Closed,
    Draft,
    Health,
    HealthStatus,
    Hit,
    Json,
    Memory,
    MeshError,
    Outcome,
    Query,
    Receipt,
    Scope,
)
from memory_mesh.model.conversation import FormatOptions, InteractionContext
from memory_mesh.model.pack import Pack
from memory_mesh.rules.arguments import check_text
from memory_mesh.rules.trust import lens_of, said_by_different
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE
from memory_mesh.write.prepare import redact, redact_statement
from memory_mesh.write.rules.drafts import draft_of

SKILL_TAG = "skill:"
TAG = "#interaction"
_MAX_REMEMBERED = 100  # recalled memories and refusals a manager holds on to
_MAX_COMPARED = 5  # memories that a new exchange is held against
_MAX_QUESTION_CHARS = 2_000  # characters of an exchange that look for its twins


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextManagerConfig:
    """How a manager captures and recalls."""

    recall_limit: int = 5
    minimum_score: float = 0.0  # relevance below which nothing is recalled
    minimum_importance: float = capture.KEEP
    duplicate_at: float = capture.DUPLICATE
    captures_per_session: int = 100


class MemoryContextManager(Operations):
    """Captures, recalls and formats memories for an agent; whoever opened the mesh closes it."""

    @constructor
    def __init__(
        self,
        config: ContextManagerConfig | None = None,
        *,
        mesh: MemoryMesh | None = None,
        store: str | PathLike[str] | None = None,
        **options: Unpack[MeshOptions],
    ) -> None:
        """Use a mesh, or open one of our own with these settings at the first use.

        Options:
            mesh: the mesh to use; store and settings are for a mesh of our own.
            store: a folder, sqlite:///FOLDER or postgresql://USER@HOST/DATABASE.
        """
        self._config = config or ContextManagerConfig()
        self._own = mesh is None
        self._mesh: MemoryMesh | None = MemoryMesh(store, **options) if mesh is None else mesh
        self._recalled: dict[str, str] = {}
        self._count = 0
        self._refusals: deque[tuple[str, ...]] = deque(maxlen=_MAX_REMEMBERED)

    @property
    def refusals(self) -> Sequence[tuple[str, ...]]:
        """Why the latest exchanges that were not kept were not, the newest last."""
        return self._refusals

    @property
    def last_refusal(self) -> tuple[str, ...]:
        """Why the latest exchange that was not kept was not; empty when there was none."""
        return self._refusals[-1] if self._refusals else ()

    def initialize(self) -> None:
        """Open the store; every other method does it if needed."""
        self._open().init()

    def capture_interaction(
        self, prompt: str, response: str, context: InteractionContext | None = None
    ) -> Receipt | None:
        """Keep an exchange that is worth it, or None; `last_refusal` then says why."""
        self._open()
        prompt, response = check_text(prompt, "prompt"), check_text(response, "response")
        kept = self._captured(prompt, response, context or InteractionContext())
        if isinstance(kept, Receipt):
            self._count += 1
            return kept
        self._refusals.append(kept)
        return None

    def recall_memories(
        self,
        query: str,
        *,
        limit: int | None = None,
        use_cache: bool = True,
        memory_type: str | None = None,
        skill_name: str | None = None,
        include_lessons: bool = False,
        scope: Reader = None,
    ) -> list[Hit]:
        """Memories for the next turn, best first; each counts as used.

        A skill's name leaves out what belongs to other skills. With lessons, those that apply come
        first, so that no other memory takes their place.

        Options:
            limit: the largest number of results, 1 to 1,000.
            use_cache: allow an answer from the cache of recent searches.
            memory_type: only memories of this type, such as lesson or session.
            skill_name: leave out memories that belong to other skills.
            include_lessons: put the lessons that apply first.
        """
        mesh = self._open()
        most = self._config.recall_limit if limit is None else limit
        tests = [
            *(
                [f"(memory_type = {_text(memory_type)} OR label = {_text(memory_type)})"]
                if memory_type
                else []
            ),
            *([self._of_skill(skill_name)] if skill_name else []),
        ]
        filter_ = " AND ".join(tests) or None
        hits = mesh.search(query, limit=most, filter=filter_, use_cache=use_cache, scope=scope)
        found = [hit for hit in hits if hit.score >= self._config.minimum_score]
        if include_lessons:
            found = [*self._lessons(query, most, scope, use_cache=use_cache), *found]
        found = list({hit.id: hit for hit in reversed(found)}.values())[::-1]
        mesh.get_many([hit.id for hit in found], scope=scope)  # opened for a prompt: that is use
        for hit in found:
            self._note(hit.memory)
        return found

    def context(
        self,
        question: str | None = None,
        *,
        max_tokens: int | None = None,
        window: int | None = None,
        format: str = "markdown",
        compact: bool = False,
        count_tokens: Callable[[str], int] | None = None,
        skill_name: str | None = None,
        scope: Reader = None,
    ) -> "Pack":
        """The memories for the next turn as fenced text under a budget; see `MemoryMesh.context`.

        What it shows counts as recalled: an exchange that only repeats it is not kept.

        Options:
            max_tokens: the most tokens of the text; default 2,000, or 5 % of a smaller window.
            window: the size of the model's window in tokens.
            format: how it is written: markdown, xml or json.
            compact: show id, first line and tokens of each memory; `get` reads the rest.
            count_tokens: the tokenizer's own count of a text; default: an estimate that errs high.
            skill_name: leave out memories that belong to other skills.
        """
        pack = self._open().context(
            question,
            max_tokens=max_tokens,
            window=window,
            format=format,
            compact=compact,
            filter=self._of_skill(skill_name) if skill_name else None,
            min_relevance=self._config.minimum_score or MIN_RELEVANCE,
            count_tokens=count_tokens,
            scope=scope,
        )
        for item in pack:
            self._note(item.memory)
        return pack

    def format_memories_for_prompt(
        self, memories: Sequence[Hit | Memory], options: FormatOptions | None = None
    ) -> str:
        """The memories fenced and quoted; nothing in them can pose as a part of the prompt."""
        return prompt_text.fenced(memories, options)

    def health_check(self) -> HealthStatus:
        """Whether the store opens, writes and searches, and what its embedder does."""
        try:
            mesh = self._open()
            return checkup(mesh._access(), mesh._now())  # noqa: SLF001  # of the same package
        except MeshError as error:
            return HealthStatus((Check("store", Health.UNHEALTHY, str(error)),))

    def dispose(self) -> None:
        """Let go of everything; close the mesh if it is our own. Twice is fine."""
        mesh, self._mesh = self._mesh, None
        self._recalled.clear()
        if mesh is not None and self._own:
            mesh.close()

    def _open(self) -> MemoryMesh:
        if self._mesh is None:
            raise Closed
        return self._mesh

    def _captured(
        self, prompt: str, response: str, context: InteractionContext
    ) -> Receipt | tuple[str, ...]:
        """What became of an exchange, or every reason against it."""
        read = tuple(self._recalled.values())
        found = capture.judge(prompt, response, context, read, self._config.minimum_importance)
        if not found.worth_keeping:
            return found.refusals
        if self._count >= self._config.captures_per_session:
            return (f"{self._count} exchanges were kept in this session already",)
        draft = self._draft(capture.wording(prompt, response), found, context)
        twin = self._twin(draft)
        if twin is not None:
            return (f"it says no more than {twin.id}",)
        receipt = self._open().add_many([draft])[0]
        unkept = receipt.outcome in {Outcome.MERGED, Outcome.REFUSED}
        return receipt.reasons if unkept else receipt

    def _note(self, memory: Memory) -> None:
        self._recalled.pop(memory.id, None)
        self._recalled[memory.id] = memory.text
        while len(self._recalled) > _MAX_REMEMBERED:
            self._recalled.pop(next(iter(self._recalled)))

    def _draft(self, text: str, found: capture.Judgement, context: InteractionContext) -> Draft:
        mesh = self._open()
        config = mesh.config
        tags = [TAG, *context.tags]
        details: dict[str, object] = {
            "kind": found.kind,
            "importance": found.importance,
            "scope": mesh._own_scope(context.scope),  # noqa: SLF001  # as it is kept
        }
        if context.skill_name:
            tags.append(SKILL_TAG + context.skill_name)
            skill = self._skill_id(context.skill_name)
            details |= {"source_skill": skill} if skill else {}
        said: dict[str, Json] = {"signals": list(found.signals)}
        said |= {"tools_used": list(context.tools_used)} if context.tools_used else {}
        said |= {"files": list(context.files)} if context.files else {}
        draft = draft_of(
            text,
            dict(context.metadata) | said,
            details | {"tags": tags},
            agent_id=config.agent_id,
            channel=Channel.ASSISTANT,
        )
        return replace(draft, source=replace(draft.source, agent=config.agent_id))

    def _twin(self, draft: Draft) -> Memory | None:
        """A memory that the exchange adds nothing to; the search for it is not recorded."""
        mesh = self._open()
        access = mesh._access()  # noqa: SLF001  # of the same package
        draft, text = redact_statement(access, draft), redact(access, draft.text)
        lens = lens_of(mesh._now(), draft.scope, session_days=mesh.config.session_days)  # noqa: SLF001
        question = Query(text[:_MAX_QUESTION_CHARS], lens, _MAX_COMPARED, keyword_only=True)
        hits = mesh._recall(question, use_cache=False, recorded=False)  # noqa: SLF001
        known = [
            hit.memory
            for hit in hits
            if hit.memory.scope == draft.scope and not said_by_different(draft, hit.memory)
        ]
        threshold = self._config.duplicate_at
        return next((one for one in known if capture.near_twin(text, one.text, threshold)), None)

    def _lessons(
        self, query: str, limit: int, scope: Scope | None, *, use_cache: bool
    ) -> list[Hit]:
        """Lessons that are certain and recent enough to be heard; to the day, so that it caches."""
        mesh = self._open()
        kept = timedelta(days=mesh.config.lesson_retention_days)
        since = (mesh._now() - kept).date()  # noqa: SLF001
        certain = f"rule_confidence >= {mesh.config.lesson_min_confidence:f}"
        filter_ = f"memory_type = 'lesson' AND {certain} AND created_at >= '{since}'"
        return mesh.search(query, limit=limit, filter=filter_, use_cache=use_cache, scope=scope)

    def _of_skill(self, name: str) -> str:
        """What belongs to this skill, and what belongs to none."""
        tagged = f"tags = {_text(SKILL_TAG + name)}"
        skill = self._skill_id(name)
        own = f"{tagged} OR source_skill_id = {_text(skill or name)}"
        return f"({own} OR (source_skill_id IS NULL AND NOT tags LIKE '{SKILL_TAG}%'))"

    def _skill_id(self, name: str) -> str | None:
        hits = self._open().search_skills(f"Name: {name}", limit=1)
        return hits[0].id if hits and hits[0].name == name else None


def _text(value: str) -> str:
    return "'" + check_text(value, "a filter's text").replace("'", "''") + "'"
