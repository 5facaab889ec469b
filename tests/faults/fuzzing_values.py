"""Values for the arguments of any public method, found from its annotations: usual and odd ones.

Every value is of a type that the annotation states, so whatever the library does not like about it
must be a MeshError. What stands inside a mapping of objects may be of any type.
"""

import collections.abc
import inspect
import os
import pkgutil
import random
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from memory_mesh import model
from memory_mesh.mesh.operation import public_name
from memory_mesh.rules.arguments import NOT_GIVEN, NotGiven
from memory_mesh.write.rules.drafts import DETAILS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = (
    "The printer is on the third floor", "Ann lives in Rome", "Ann lives in Oslo", "I live",
    "I live in Paris", "The build failed because the token had expired; refresh it first", "tea",
    "Never push to main on Fridays", "ssh key sk-ant-REDACTED-example of bob@example.com",
    "When a deploy fails, roll it back, then read the log, then fix the test", "资料备份", "ärger",
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "\n", "\t\n ", "\0", "a\0b", "\udc80", "x\ud800y", "\u202e\u2066", "\ufeff", "é" * 700,
    "x" * 5_000, "x" * 120_000, "[" * 600, "](" * 300, "<" * 600, "{" * 600, "?" * 600, "(" * 40,
    "a: [" * 80, "---\nname: [\n---\n", "'; DROP TABLE memory; --", "%s%n{0}{x}", "../../x", "/",
    "-", "--", "0", "-1", "1e999", "nan", "null", "true", "{}", "[]", '{"a":', "mem_1_1", "mem__",
    "skill_0_000000", "prop_1_1", "2026-13-40", "2026-03-01", "9999-12-31T23:59:59Z", "0001-01-01",
    "(a+)+$", "(?P<x>", "\\", "[a-", "name: x", "#", "# x\n- y\n", "🙂" * 50, "\r", "\x1b[31m",
    "a" * 513, "tags = 'x'", "importance > 0.5", "tags = ", "NOT", "(((((", "label = 'trace'",
    "global", "all", "project", "markdown", "json", "lane", "mesh", "keep_both", "*", "?", "~", ".",
)  # fmt: skip
NAMES = ("p", "q", "ann", "bob", "s1", "s2", "a1", "tea", "default")
ODD_INTS = (0, -1, 1, 2, 5, 1_000, 1_001, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 10**5_000)
ODD_FLOATS = (
    0.0, -0.0, 1.0, 0.5, -1.0, 2.0, 5e-324, 1e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
_FAR = timezone(timedelta(hours=23, minutes=59))
_LEAST, _MOST = datetime.min, datetime.max  # noqa: DTZ901  # odd ones
ODD_TIMES = (
    NOW, NOW - timedelta(days=1), NOW + timedelta(days=40), NOW.replace(tzinfo=None),
    _LEAST, _MOST, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=_FAR), datetime.max.replace(tzinfo=timezone(-timedelta(hours=23))),
    datetime(1969, 12, 31, tzinfo=UTC),
)  # fmt: skip
ODD_OBJECTS: tuple[object, ...] = (
    None, True, 7, 2**70, 1.5, float("nan"), "x", "\udc80", b"x", object(), [], {}, [1, [2, [3]]],
    {"a": {"b": 1}}, {1: 2}, {"__proto__": 1}, NOW, date(2026, 1, 1), {"x"}, ("a", "b"), 10**5_000,
)  # fmt: skip
_ITEMS = ("content", "metadata", "id", "merge", "reason", *DETAILS)
_METADATA = ("tags", "type", "user_id", "x", "source", "memory_type", "memory_type", "status")
_CLAIM = ("subject", "predicate", "value", "exclusive", "scope", "sessionId", "validFrom")


@dataclass
class Known:
    """What earlier calls returned: ids by their prefix, other texts, and values by their type."""

    ids: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    values: dict[type, list[object]] = field(default_factory=dict)


class Values:
    """Draws values; the same dice and the same answers give the same values."""

    def __init__(self, dice: random.Random, known: Known, sandbox: Path) -> None:
        self.dice, self.known, self._sandbox = dice, known, sandbox
        self.odd = 0.15  # share of odd values

    def arguments(self, function: Callable[..., object]) -> tuple[list[object], dict[str, object]]:
        """Arguments that fit a signature: those it needs, and a few that it does not."""
        places: list[object] = []
        named: dict[str, object] = {}
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "self" or parameter.kind is parameter.VAR_KEYWORD:
                continue
            needed = parameter.default is parameter.empty
            if not needed and self.dice.random() > self._wanted(name):
                continue
            value = self.value(parameter.annotation, self._meant(function, name))
            if parameter.kind is parameter.VAR_POSITIONAL or (
                needed and parameter.kind is parameter.POSITIONAL_OR_KEYWORD and not named
            ):
                places.append(value)
            else:
                named[name] = value
        return places, named

    def _meant(self, function: Callable[..., object], name: str) -> str:
        """The name of an argument, where the method says more than the name."""
        if name not in {"id", "memory_id"}:
            return name
        return _MEANT.get(public_name(function.__qualname__), name)

    def _wanted(self, name: str) -> float:
        return 0.1 if name in {"scope", "reader", "as_of", "valid_at", "filter", "cursor"} else 0.15

    def value(self, annotation: object, name: str, depth: int = 0) -> Any:
        """A value of an annotation; the argument's name says what text is usual."""
        annotation = _resolved(annotation)
        origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in {typing.Union, types.UnionType}:
            return self.value(self.dice.choice(parts), name, depth)
        if origin is typing.Literal:
            return self.dice.choice(parts)
        if origin in {tuple, list, set, frozenset} or origin in _COLLECTIONS:
            return self._collected(origin, parts, name, depth)
        if annotation in _PLAIN:
            return _PLAIN[annotation](self, name)
        if isinstance(annotation, type):
            return self._instance(annotation, name, depth)
        return self.dice.choice(ODD_OBJECTS) if annotation is not inspect.Parameter.empty else None

    def text(self, name: str) -> str:
        """A text that suits the argument's name, or an odd one."""
        if self.dice.random() < self.odd:
            return self.dice.choice(ODD_TEXTS)
        if name == "wire_format" and self.known.texts:
            return self.dice.choice(self.known.texts)
        if name in _SPOKEN:
            return self.dice.choice(_SPOKEN[name])
        if name.endswith(("id", "ids", "id_")) or name in _NAMING:
            return self.id_of(name)
        if name in _SAID:
            return " ".join(self.dice.sample(WORDS, self.dice.randint(1, 2)))
        if self.known.texts and self.dice.random() < 0.1:
            return self.dice.choice(self.known.texts)
        return self.dice.choice(NAMES)

    def id_of(self, name: str) -> str:
        """The id of something that was seen, mostly of the kind that the name asks for."""
        kind, prefix = next((two for word, two in _KINDS.items() if word in name), ("", "mem"))
        seen = [many for each, many in self.known.values.items() if each.__name__ == kind]
        ids = [str(getattr(one, "id", "")) for many in seen for one in many]
        ids = ids or self.known.ids.get(prefix, [])
        if not ids or self.dice.random() < 0.15:
            ids = [id_ for each in self.known.ids.values() for id_ in each]
        return self.dice.choice(ids) if ids else self.dice.choice(ODD_TEXTS)

    def integer(self) -> int:
        """A small number, or an odd one."""
        odd = self.dice.random() < self.odd
        return self.dice.choice(ODD_INTS) if odd else self.dice.randint(1, 20)

    def number(self) -> float:
        """A share, or an odd number."""
        odd = self.dice.random() < self.odd
        return self.dice.choice(ODD_FLOATS) if odd else round(self.dice.random(), 2)

    def time(self) -> datetime:
        """A time of the story, or an odd one."""
        if self.dice.random() < self.odd:
            return self.dice.choice(ODD_TIMES)
        return NOW + timedelta(hours=self.dice.randint(-200, 200))

    def anything(self, name: str = "") -> object:
        """Any object: metadata and items of data may hold what they like."""
        if self.dice.random() < 2 * self.odd:
            return self.dice.choice(ODD_OBJECTS)
        return self.dice.choice((self.text(name), self.integer(), self.number(), True))

    def path(self) -> Path:
        """A path inside the sandbox; there may be a file, a folder or nothing."""
        there = sorted(self._sandbox.rglob("*"))[:50] if self.dice.random() < 0.5 else []
        return self.dice.choice(there) if there else self._sandbox / self.dice.choice(NAMES)

    def mapping(self, name: str) -> Mapping[str, object]:
        """A mapping such as an item, a claim or metadata."""
        keys = {"items": _ITEMS, "changes": _ITEMS, "claim": _CLAIM}.get(name, ())
        chosen = self.dice.sample(keys, self.dice.randint(0, min(5, len(keys)))) if keys else []
        if name in {"items", "changes"} and self.dice.random() < 0.9:
            chosen = [*chosen, "content" if name == "items" else "id"]
        if not keys or self.dice.random() < 0.1:
            chosen = [*chosen, *self.dice.sample(_METADATA, 2)]
        return {key: self._stated(key) for key in chosen}

    def _stated(self, key: str) -> object:
        if self.dice.random() < self.odd:
            return self.dice.choice(ODD_OBJECTS)
        if key in DETAILS:
            return self.value(DETAILS[key].__origin__, key)  # our own types
        return self.text(key)

    def _collected(self, origin: Any, parts: Sequence[object], name: str, depth: int) -> object:
        if origin in _MAPPINGS:
            return self._mapped(parts, name, depth)
        if origin is collections.abc.Callable:
            return lambda *_: None if name == "progress" else len(str(_))
        several = self.dice.choice((0, 1, 1, 2, 3))
        if origin is tuple and Ellipsis not in parts:
            return tuple(self.value(part, name, depth + 1) for part in parts)
        inner = parts[0] if parts else str
        found = [self.value(inner, name, depth + 1) for _ in range(several)]
        return origin(found) if origin in (tuple, set, frozenset) else found

    def _mapped(self, parts: Sequence[object], name: str, depth: int) -> object:
        inner = _resolved(parts[1]) if len(parts) > 1 else object
        if inner is object:
            return self.mapping(name)
        return {self.text("key"): self.value(inner, name, depth + 1) for _ in range(2)}

    def _instance(self, kind: type, name: str, depth: int) -> object:
        if issubclass(kind, Enum):
            return self.dice.choice(list(kind))
        seen = self.known.values.get(kind)
        if seen and self.dice.random() < 0.7:
            return self.dice.choice(seen)
        built = getattr(kind, "__value_fields__", None)
        if (built is None and not is_dataclass(kind)) or depth > 3:
            return self.dice.choice(seen) if seen else None
        return self._built(kind, depth)

    def _built(self, kind: type, depth: int) -> object:
        """One of our own values, with what it needs and some of what it may have."""
        stated: dict[str, object] = {}
        for name, parameter in inspect.signature(kind).parameters.items():
            if parameter.default is parameter.empty or self.dice.random() < 0.25:
                stated[name] = self.value(parameter.annotation, name, depth + 1)
        return kind(**stated)


@cache
def _names() -> dict[str, Any]:
    """Names that annotations in quotes use."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(model.__path__, "memory_mesh.model."):
        found |= vars(import_module(module.name))
    for name in (
        "memory_mesh.sync",
        "memory_mesh.compat.neolata.model",
        "memory_mesh.model.ports",
    ):
        found |= vars(import_module(name))
    return {**vars(collections.abc), **vars(typing), **found, "NotGiven": NotGiven}


def _resolved(annotation: object) -> object:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:
            return eval(annotation, _names())  # our own annotations
        except NameError:
            return object
    return annotation


_COLLECTIONS = {
    collections.abc.Iterable, collections.abc.Sequence, collections.abc.Mapping,
    collections.abc.Callable, collections.abc.Collection, collections.abc.Iterator, dict,
}  # fmt: skip
_MAPPINGS = {collections.abc.Mapping, dict}
_PLAIN: dict[object, Callable[[Values, str], object]] = {
    str: Values.text,
    int: lambda values, _: values.integer(),
    float: lambda values, _: values.number(),
    bool: lambda values, _: values.dice.random() < 0.5,
    datetime: lambda values, _: values.time(),
    object: Values.anything,
    type(None): lambda _values, _name: None,
    bytes: lambda values, _: values.dice.choice((b"", b"x", b"\0" * 16)),
    Path: lambda values, _: values.path(),
    os.PathLike: lambda values, _: values.path(),
    os.PathLike[str]: lambda values, _: values.path(),
    NotGiven: lambda _values, _name: NOT_GIVEN,
}
_KINDS = {  # the value with such an id, and how the id begins
    "conflict": ("Conflict", "conflict"), "skill": ("Skill", "skill"), "trace": ("", "trace"),
    "proposal": ("Proposal", "prop"), "episode": ("Episode", "mem"), "before": ("", "exp"),
    "experience": ("", "exp"), "waiting": ("Proposal", "mem"), "injection": ("", "inj"),
}  # fmt: skip
_MEANT = {
    "MemoryMesh.review.decide": "waiting_id", "MemoryMesh.review.undo": "waiting_id",
    "MemoryMesh.skills.rate": "skill_id",
}  # fmt: skip
_NAMING = {"by", "target", "source", "derived_from", "supersedes", "ids", "before"}
_SAID = {
    "content", "text", "query", "question", "goal", "task", "prompt", "response", "title", "topic",
    "yamo_text", "items", "current_plan", "plan", "reason", "value", "why", "rationale",
    "wire_format",
}  # fmt: skip
_SPOKEN: dict[str, Sequence[str]] = {
    "filter": ("importance > 0.5", "tags = 'tea'", "kind = 'decision' AND pinned = true",
               "created_at > '2026-01-01'", "NOT (speaker = 'ann')", "metadata.x = 'tea'",
               '{"team": "core", "priority": {"$gte": 3}}', '{"tags": {"$contains": "tea"}}',
               "status IN ('active', 'deleted')", "label = 'trace' OR session = 's1'"),
    "across": ("project", "agent", "session"),
    "include": ("deleted", "quarantined", "superseded", "archived", "expired", "disputed"),
    "role": ("user", "assistant", "tool", "system"),
    "kind": ("fact", "decision", "preference", "lesson", "procedure", "recipe"),
    "tier": ("short_term", "long_term", "system"),
    "importance": ("low", "medium", "high", "critical"),
    "source_kind": ("document", "inference", "user_explicit", "tool_output", "system"),
    "profile": ("mesh", "lane", "rfc11", "neolata"),
    "format": ("markdown", "xml", "json", "plain"),
    "status": ("success", "failure", "partial", "active"),
    "resolution": ("keep_both", "supersede", "reject", "newer_than"),
    "names": ("consolidate-traces", "archive", "compress", "retention"),
    "triggers": ("deploy|release", "^when .* fails$", "printer", "(a|b)c+"),
    "memory_type": ("learning", "decision", "preference"),
    "predicate": ("lives_in", "port", "likes"),
    "subject": ("ann", "user", "service"),
    "order_by": ("severity", "confidence", "created_at"),
    "types": ("related", "similar", "derived_from", "follows"),
    "type": ("related", "follows", "depends_on", "decision"),
    "path": ("x", "y"),
    "occurred_at": ("2026-02-28T10:00:00Z", "2026-02-28"),
    "as_of": ("2026-03-01T12:00:00Z", "2026-02-01"),
    "valid_at": ("2026-03-01T12:00:00Z",),
    "since": ("2026-02-01T00:00:00Z",),
    "until": ("2026-04-01T00:00:00Z",),
}  # fmt: skip
