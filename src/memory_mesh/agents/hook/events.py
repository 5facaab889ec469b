"""What a host's event brings: memories for the prompt, or something to learn.

::

    recall    start ──▶ pinned, lessons, newest, most used ──┐
              prompt ─▶ what fits it and was not given yet ──┼─▶ fenced text, visible line, ids
                     └▶ what was done before for such a task ┘
    capture   prompt, answer, failure, end ──▶ capture.captured ──▶ ids of what was stored

The daemon and the hook without a daemon both come here, through `agents.answer`. Memories are read
for the project and the session, and stored for the project: see docs/agents/hooks.md.
"""

import time
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.agents import journal
from memory_mesh.agents.hook import AWAY, hosts
from memory_mesh.agents.sessions import Session
from memory_mesh.base.typed import TYPE_CHECKING, Any, replace
from memory_mesh.context.packing.choice import token_bound, words
from memory_mesh.formats.private import without_private
from memory_mesh.model import Channel, NotAllowed, Scope
from memory_mesh.model.pack import LeftOutBy, Pack
from memory_mesh.platform import locks

if TYPE_CHECKING:
    from memory_mesh.agents.opening import Stores
    from memory_mesh.sync import MemoryMesh

DONE = "done"  # the outcome of a capture that worked
LEAST_EVENTS = 3  # that were not learned from
LEAST_STARTS = 5  # of sessions, where nothing else happens at all
SETTLING_SECONDS = 90.0  # that a capture may take: a hook's worker ends after a minute
NEXT = "memory-mesh doctor"
_TAIL_BYTES = 16 * 1024  # some hundred lines

_UNREADABLE = "\ufffd"

LEAST_WORDS = 3
MOST_CHARS = 2_000  # of a question: half from the prompt's beginning, half from its end

NAME = "memory-mesh"
MOST_WARNINGS = 3  # about one call
_HELD_FOR = "held for "  # before an id among what a session was given
HELD = "memory-mesh held this call once, for the memory above. To run it all the same, repeat it."
ENFORCED = "The user made this a rule: the call is refused."

CAPTURE = "capture"
MAY_NOT_WRITE = "nothing of what you said was stored: this key may only read"
PROMPT_TOKENS = 800  # of memories at one prompt; at a start `injection_max_tokens`
PROMPT_MEMORIES = 8
RECALL_SECONDS = 0.2  # for locks
GIT_SHARE = 0.3  # of the time that is left, to look where cited code went
PLAN_TITLE = "what earlier runs of such a task say"
PLAN_ADVICES = 2  # of what worked, of what failed and of what to avoid
SAME_TASK = 0.5  # how near the goal of an earlier execution must be, 0 to 1
MOST_WAITING = 100  # of what waits for review that is counted


def on_event(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    """Answers one event of a host."""
    given = storable(request["input"])
    request = {**request, "input": given}
    if given.get("part") == CAPTURE:
        return _captured(stores, request)
    until = given.get("until")
    if isinstance(until, float) and time.monotonic() > until:
        return {}  # the hook has ended: what nobody reads is not recorded as read
    with locks.at_most(RECALL_SECONDS):  # nothing that can wait is done before a prompt
        is_tool = given.get("event") == hosts.TOOL
        return _warned(stores, request) if is_tool else _recalled(stores, request)


def session_of(request: Mapping[str, Any]) -> Session:
    """The session that the host names; one of its own for an event without a name."""
    named = request["input"].get("session_id")
    known = named if isinstance(named, str) and named else f"unnamed {request['id']}"
    return Session.of(request["store"], request["host"], known, request["environment"])


def _recalled(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    given = request["input"]
    mesh = stores.mesh_for(request, channel=Channel.HOOK)
    session = session_of(request)
    if isinstance(until := given.get("until"), float):
        mesh._git_seconds = (until - time.monotonic()) * GIT_SHARE  # noqa: SLF001
    pack = _pack(mesh, session, given)
    if pack is None:
        return {}
    plan, cited = _plan(mesh, session, given)
    said, notices = None, session.notices()
    if not session.line_shown():
        at_start = given.get("event") == hosts.START
        waiting = len(mesh.review.waiting(limit=MOST_WAITING)) if at_start else 0
        warned = warning(request["store"]) if at_start else None
        said = visible(pack, waiting=waiting, at_start=at_start, warned=warned)
    return {
        "context": "\n\n".join(text for text in (pack.text, plan) if text) or None,
        "line": with_notices(said, notices),
        "notices": len(notices),
        "fence": pack.fence or None,
        "given": list(dict.fromkeys([*(item.id for item in pack), *cited])),
        "memories": len(pack),
        "tokens": pack.tokens + token_bound(plan),
    }


def _warned(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    """Holds a call that lessons warn of: once for a session, unless the user enforces one."""
    given = request["input"]
    mesh = stores.mesh_for(request, channel=Channel.HOOK, embedder=False)
    reader = Scope(session=given.get("session_id") or None)
    found = mesh.lessons.about(
        str(given.get("command") or ""),
        file=str(given.get("file") or ""),
        folder=str(request["cwd"]) or None,
        scope=reader,
    )
    told = session_of(request).given() if found else set()
    found = [one for one in found if one.enforced or _HELD_FOR + one.memory_id not in told]
    if not found:
        return {}
    from memory_mesh.context.fence import fenced_for_tool, harmless

    text = fenced_for_tool([harmless(one.text[:MOST_CHARS]) for one in found[:MOST_WARNINGS]])
    after = ENFORCED if any(one.enforced for one in found) else HELD
    held = [_HELD_FOR + one.memory_id for one in found]
    return {"hold": f"{text}\n{after}", "given": held, "memories": len(held)}


def _pack(mesh: "MemoryMesh", session: Session, given: Mapping[str, Any]) -> "Pack | None":
    """The memories for this event; None if there is nothing to look for."""
    most = mesh.config.injection_max_tokens
    reader = Scope(session=given.get("session_id") or None)
    if given.get("event") == hosts.START:
        return mesh.context(max_tokens=most, scope=reader)
    question = question_of(str(given.get("prompt") or ""))
    if question is None:
        return None
    return mesh.context(
        question,
        max_tokens=min(PROMPT_TOKENS, most),
        max_memories=PROMPT_MEMORIES,
        exclude=session.given(),
        scope=reader,
    )


def _plan(mesh: "MemoryMesh", session: Session, given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What earlier executions of such a task say, and their ids; each is given once in a session.

    A store without traces is asked for one of them, and for nothing else.
    """
    reader = Scope(session=given.get("session_id") or None)
    goal = (
        None if given.get("event") == hosts.START else question_of(str(given.get("prompt") or ""))
    )
    if goal is None or not mesh.traces.get_all(limit=1, scope=reader):
        return "", []
    plan = mesh.traces.plan(goal, limit=PLAN_ADVICES, min_similarity=SAME_TASK, scope=reader)
    done = [match.trace_id for match in plan.matches]
    if session.given().issuperset(done):
        return "", []
    from memory_mesh.context.fence import fenced_for_tool, plan_text

    return fenced_for_tool([plan_text(replace(plan, goal=PLAN_TITLE))]), done


def _captured(stores: "Stores", request: Mapping[str, Any]) -> dict[str, Any]:
    """Learns from an event; the request's id keeps it from being stored twice."""
    from memory_mesh.agents.hook.capture import captured  # no recall waits for its rules

    given = request["input"]
    session = session_of(request)
    prompt = given.get("prompt")
    if given.get("event") == hosts.PROMPT and isinstance(prompt, str):
        session.saw(without_private(prompt))
    mesh = stores.mesh_for(request, channel=Channel.HOOK)
    try:
        found = captured(mesh, session, given, key=request["id"])
    except NotAllowed:
        if isinstance(prompt, str):
            session.record(notice=MAY_NOT_WRITE)
        raise
    ids = [receipt.id for receipt in found.receipts if receipt.id is not None]
    session.record(stored=ids, notice=found.line)
    return {"stored": len(ids)}


# The one line of a session that its user sees.


def visible(pack: "Pack", *, waiting: int, at_start: bool, warned: str | None = None) -> str | None:
    """Says what entered the prompt, at what price, and what is left to do.

    None at a prompt that memory has nothing to say to.
    """
    below = sum(one.by is LeftOutBy.RELEVANCE for one in pack.left_out)
    if pack:
        said = f"{_counted(len(pack), 'memory', 'memories')}, {pack.tokens} tokens"
    elif at_start:
        said = "no memories for this project yet"
    elif not below:
        return None
    else:
        said = "no memory fits this prompt"
    parts = [said]
    if below:
        parts.append(f"{below} below the relevance threshold")
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        parts.append(f"{waiting} {verb} for review")
    if warned:
        parts.append(warned)
    return f"{NAME}: {'; '.join(parts)}"


def with_notices(said: str | None, notices: Sequence[str]) -> str | None:
    """The line with what the user should know of earlier captures; None if there is nothing."""
    parts = [*([said] if said else []), *(f"{NAME}: {one}" for one in dict.fromkeys(notices))]
    return "\n".join(parts) or None


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


# What of a prompt is looked for in memory.


def question_of(prompt: str) -> str | None:
    """The part of a prompt that asks; None if there is too little to look for.

    A word or two ("yes", "go on") fit any memory. A command of the host ("/compact") asks nothing.
    """
    text = prompt.strip()
    if len(text) > MOST_CHARS:
        text = f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    first, *rest = text.split(None, 1) or [""]
    if _is_command(first):
        text = "".join(rest)
    return text if len(words(text)) >= LEAST_WORDS else None


def _is_command(word: str) -> bool:
    """Whether a word is a command of the host, and no path."""
    return word[:1] == "/" and word[1:2].isalpha() and "/" not in word[1:]


# Mends what a host says: half of a cut emoji or a NUL byte must not cost a prompt its memories.


def storable(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, with a sign for the unreadable where no store takes a character."""
    return {_mended(name): _storable(value) for name, value in given.items()}


def _storable(value: object) -> object:
    if isinstance(value, str):
        return _mended(value)
    if isinstance(value, dict):
        return storable(value)
    return [_storable(each) for each in value] if isinstance(value, list) else value


def _mended(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", _UNREADABLE)


# Whether hooks still learn: told from the journal alone, for the visible line and for `doctor`.
#
# Every hook that may teach something leaves two lines: its own, and later that of its capture,
# which says `done` even where there was nothing to learn. Hooks without captures mean that capture
# has stopped. This module is small: a session's start loads it.


def warning(store: str) -> str | None:
    """What a session's user should know: that capture has stopped, and what to do; else None."""
    found = missed(journal.tail(store, _TAIL_BYTES), time.time())
    if found is None:
        return None
    events, _ = found
    return f"nothing was learned from the last {events} events; to see why, run: {NEXT}"


def missed(lines: "Iterable[Mapping[str, Any]]", now: float) -> tuple[int, str] | None:
    """How many events were not learned from, and why; None while capture works.

    Only those count that are since the last capture that worked, or kept its event for a service
    that is away, and old enough to have theirs.
    """
    settled = journal.stamp(now - SETTLING_SECONDS)
    events = starts = 0
    reason = "no capture ended"
    for line in lines:
        what, event = line.get("what"), line.get("event")
        if what == "capture" and line.get("outcome") in {DONE, AWAY}:
            events = starts = 0
            reason = "no capture ended"
        elif what == "capture":
            reason = str(line.get("reason") or "no reason is known")
        elif what == "hook" and str(line.get("at", "")) < settled:
            events += event in hosts.CAPTURES
            starts += event == hosts.START
    if events >= LEAST_EVENTS:
        return events, reason
    if starts >= LEAST_STARTS and not events:
        return starts, "sessions start, but no prompt reaches the hook"
    return None
