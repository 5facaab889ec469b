"""How values read on a page: times, scores, names of namespaces and statuses in plain words."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from markupsafe import Markup

from memory_mesh.base.typed import Any
from memory_mesh.config import NO_AGENT
from memory_mesh.model import Channel, Source, SourceKind, Status
from memory_mesh.model.pack import Injection
from memory_mesh.rules.arguments import user_of

_STEPS = (
    (timedelta(minutes=1), timedelta(seconds=1), "s"),
    (timedelta(hours=1), timedelta(minutes=1), "min"),
    (timedelta(days=1), timedelta(hours=1), "h"),
    (timedelta(days=31), timedelta(days=1), "d"),
)
_LIKELY = ((0.75, "strong"), (0.5, "likely"), (0.25, "possible"), (0.0, "weak"))
_STATUS = {
    Status.ACTIVE: "active",
    Status.QUARANTINED: "waits for review",
    Status.DISPUTED: "disputed",
    Status.SUPERSEDED: "replaced",
    Status.ARCHIVED: "archived",
    Status.DELETED: "deleted",
    Status.EXPIRED: "expired",
}
_WHO = {
    SourceKind.USER_EXPLICIT: "the user's own word",
    SourceKind.SYSTEM: "the system",
    SourceKind.TOOL_OUTPUT: "a tool's output",
    SourceKind.USER_IMPLICIT: "from a conversation",
    SourceKind.DOCUMENT: "a document",
    SourceKind.INFERENCE: "an agent's inference",
}
_CHANNELS = {
    Channel.CLI: "the command line or this page",
    Channel.MCP: "an agent's tools (MCP)",
    Channel.WEB: "a page of the web",
    Channel.LIBRARY: "a program",
}
_MOMENT = re.compile(r"(?:at )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)")
_ENTERED = {
    "pinned": "it is pinned",
    "profile": "it is part of the standing profile",
    "lesson": "it is a lesson",
    "found": "the search for this question found it",
    "linked": "it is linked to one that was found",
    "newer": "it is a newer statement of one that was found",
    "older": "it is an older statement of one that was found",
    "recent": "it is one of the newest",
    "used": "it is one of the most used",
}


_ANSWERS = frozenset({"found", "linked", "newer", "older"})  # sections of what a question brought


def when(at: datetime | None, now: datetime | None = None) -> str:
    """A time as people say it, with the exact one behind it."""
    if at is None:
        return Markup('<span class="quiet">never</span>')
    at = at.astimezone(UTC)
    age = (now or datetime.now(UTC)) - at
    said = f"{at:%Y-%m-%d}"
    for below, unit, name in _STEPS:
        if timedelta() <= age < below:
            said = f"{age // unit} {name} ago"
            break
    exact = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at.isoformat(), exact, said)


def told(sentence: str, memory_id: str, now: datetime) -> str:
    """A sentence of `explain` as a person would say it: times short, and the memory as "it"."""
    said = sentence.replace(f"{memory_id} ", "It ", 1).replace(f"{memory_id}:", "It:", 1)
    for kind in SourceKind:
        said = said.replace(kind, plain(kind))
    pieces = [
        when(datetime.fromisoformat(piece), now) if at % 2 else piece
        for at, piece in enumerate(_MOMENT.split(said))
    ]
    return Markup("").join(pieces)


def lost_question(prompt: Injection) -> bool:
    """Whether a prompt had a question that was forgotten with a memory that it named."""
    answered = not prompt.memories or any(each.section in _ANSWERS for each in prompt.memories)
    return not prompt.question and answered


def titled(prompt: Injection) -> str:
    """What was asked for a prompt; a session starts without a question."""
    lost = "A question that was forgotten for good"
    return prompt.question or (lost if lost_question(prompt) else "The start of a session")


def entered(section: str) -> str:
    """Why a memory entered a prompt."""
    return _ENTERED.get(section, plain(section))


def likely(score: float) -> str:
    """A score from 0 to 1 in a word."""
    return next(word for least, word in _LIKELY if score >= least)


def bar(share: float, label: str = "") -> str:
    """A share from 0 to 1 as a small bar; without a label it stands beside a number."""
    width = f"{100 * min(1.0, max(0.0, share)):.1f}"
    heard = Markup('role="img" aria-label="{}"').format(label)
    told = heard if label else Markup('aria-hidden="true"')
    return Markup(
        '<svg class="bar" {} viewBox="0 0 100 6" preserveAspectRatio="none">'
        '<rect class="rail" width="100" height="6" rx="3"></rect>'
        '<rect class="fill" width="{}" height="6" rx="3"></rect></svg>'
    ).format(told, width)


def named(agent: str | None) -> str:
    """An agent's name; nothing for one that was given none."""
    return agent if agent and agent != NO_AGENT else ""


def by(source: Source, speaker: str | None = None) -> str:
    """Who said something: a person, else an agent, else what kind of source it was."""
    return speaker or named(source.agent) or who(source.kind)


def channel(value: Channel) -> str:
    """How something came in, in words."""
    return _CHANNELS.get(value, plain(value))


def place(namespace: str) -> str:
    """A namespace, or the user that it belongs to."""
    user = user_of(namespace)
    return namespace if user is None else f"user {user}"


def status(value: Status) -> str:
    """A status in words."""
    return _STATUS[value]


def who(kind: SourceKind) -> str:
    """Where something comes from in words."""
    return _WHO[kind]


def many(count: int, one: str, more: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def plain(value: object) -> str:
    """A name of ours, such as user_explicit, as words."""
    return str(value).replace("_", " ")


FILTERS: Mapping[str, Callable[..., Any]] = {
    "bar": bar,
    "by": by,
    "channel": channel,
    "entered": entered,
    "likely": likely,
    "many": many,
    "named": named,
    "place": place,
    "plain": plain,
    "status": status,
    "titled": titled,
    "told": told,
    "when": when,
    "who": who,
}
