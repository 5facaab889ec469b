"""What the agent was told: prompts with the pack that entered each, and why not this memory."""

from datetime import datetime

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.dashboard.asked import EVERY_STATUS, EVERYONE, Asked, PageRoute, Shown
from memory_mesh.dashboard.words import lost_question
from memory_mesh.model import Memory, NotFound, Scope
from memory_mesh.model.pack import Injection, LeftOut, Pack
from memory_mesh.model.why import Entered, Why

PATH = "/told"
_A_PAGE, _CHOICES = 50, 6
_LONGEST_QUESTION = 200  # characters that a record keeps
LEFT_OUT = {
    "budget": "there was no room left",
    "redundant": "another one says the same",
    "share": "pinned ones had their share",
    "older": "a newer statement is in",
    "relevance": "not relevant enough",
    "count": "enough memories were in already",
    "given": "the agent had it already",
}


@dataclass(frozen=True, slots=True)
class ToldSession:
    """Prompts of one session that follow each other."""

    name: str | None
    prompts: list[Injection]

    @property
    def tokens(self) -> int:
        """Of all that entered its prompts."""
        return sum(prompt.tokens for prompt in self.prompts)


@dataclass(frozen=True, slots=True)
class ToldMemory:
    """A memory that entered a prompt: as it was shown, and what became of it."""

    entered: Entered
    shown: Memory  # the version of then, where it can still be read


@dataclass(frozen=True, slots=True)
class ToldLeftOut:
    """A memory that was weighed for a prompt and is not in it."""

    memory: Memory
    by: LeftOut


def show(asked: Asked) -> Shown:
    """The latest prompts, newest first, those of one session together."""
    session = asked.one("session") or None
    scope = Scope(session=session) if session else None
    across = tuple(part for part in EVERYONE if part != "session") if session else EVERYONE
    found = asked.mesh.care.prompts(
        limit=_A_PAGE, before=asked.one("before") or None, scope=scope, across=across
    )
    sessions: list[ToldSession] = []
    for prompt in found:
        if session and prompt.reader.session != session:
            continue
        if not sessions or sessions[-1].name != prompt.reader.session:
            sessions.append(ToldSession(prompt.reader.session, []))
        sessions[-1].prompts.append(prompt)
    more = found[-1].id if len(found) == _A_PAGE else None
    return Shown(
        "told.html",
        {
            "sessions": sessions,
            "session": session,
            "more": asked.here(PATH, session=session, before=more) if more else None,
        },
    )


def show_one(asked: Asked) -> Shown:
    """One prompt: what entered it, what was left out and why, and why not this one."""
    mesh = asked.mesh
    why = mesh.explain(asked.path["id"], see_across=EVERYONE)
    if why.subject != "injection":
        raise NotFound(f"there is no prompt {asked.path['id']} here, or its record is gone")
    (prompt,) = why.injections
    lost = lost_question(prompt)
    again = not lost and (asked.one("weigh") == "all" or asked.is_small())
    pack = mesh.context(
        prompt.question or None, max_tokens=prompt.max_tokens, format=prompt.format,
        scope=prompt.reader, as_of=prompt.at, record=False,
    ) if again else None  # fmt: skip
    values = {
        "prompt": prompt,
        "lost": lost,
        "told": [ToldMemory(each, _then(asked, each, prompt)) for each in why.entered],
        "left_out": _left_out(asked, pack, prompt.at) if pack is not None else [],
        "pack": pack,
        "same": [item.id for item in pack or ()] == [each.injected.memory for each in why.entered],
        "cut": len(prompt.question) >= _LONGEST_QUESTION,
        "reasons": LEFT_OUT,
        **_why_not(asked, prompt),
    }
    return Shown("told_one.html", values)


def _then(asked: Asked, entered: Entered, prompt: Injection) -> Memory:
    """The memory as it was shown; as it is now where nothing of it changed since."""
    if entered.memory.recorded_from <= entered.injected.recorded:
        return entered.memory
    try:
        return asked.memory(entered.injected.memory, as_of=prompt.at)
    except NotFound:
        return entered.memory


def _left_out(asked: Asked, pack: Pack, at: datetime) -> list[ToldLeftOut]:
    """What was weighed and is not in the prompt, in the words of that time."""
    by = {each.id: each for each in pack.left_out[:_A_PAGE]}
    found = asked.mesh.get_all(
        filter={"id": list(by)}, across=EVERYONE, include=EVERY_STATUS, limit=_A_PAGE, as_of=at
    ) if by else []  # fmt: skip
    texts = {memory.id: memory for memory in found}
    return [ToldLeftOut(texts[id_], each) for id_, each in by.items() if id_ in texts]


def _why_not(asked: Asked, prompt: Injection) -> dict[str, Any]:
    """Why a memory is not in this prompt, or for other words the memories to ask about."""
    named = asked.one("why")
    why: Why | None = None
    choices: list[Memory] = []
    if named.startswith("mem_") and prompt.question:
        why = asked.mesh.explain(
            named, query=prompt.question, max_tokens=prompt.max_tokens, as_of=prompt.at,
            scope=prompt.reader, see_across=EVERYONE,
        )  # fmt: skip
    elif named:
        hits = asked.mesh.search(
            named, limit=_CHOICES, across=EVERYONE, include=EVERY_STATUS, record=False
        )
        choices = [hit.memory for hit in hits]
    return {"asked_why": named, "why": why, "choices": choices}


ROUTES = (
    PageRoute(PATH, show, title="What the agent was told", icon="told"),
    PageRoute(f"{PATH}/{{id}}", show_one),
)
