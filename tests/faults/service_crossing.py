"""Calls of every route by those who may not: no foreign word comes back, nothing foreign changes.

::

    victims    ann, bo and the team `vault`: their texts hold numbers that nobody can guess
    attackers  a key for each role on memories of their own, one that may only read the team `open`,
               a key that is revoked, and texts that are no keys
    a call     a route or /mcp, options that name what is the victims', headers, paths and tokens
               bent in the known ways
"""

import json
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from memory_mesh.care.access_keys import ROLES
from memory_mesh.server.app import KeyLimits
from memory_mesh.server.openapi import description
from memory_mesh.server.routes import ServiceRoute, routes
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Progress, Report, Ticker, silent
from tests.surface.serving import Served, served

USERS, TEAM, OPEN = ("ann", "bo"), "vault", "open"
EACH = 3
UNLIMITED = KeyLimits(rate=1e9, burst=1e9)
REFUSED = frozenset((307, 400, 401, 403, 404, 405, 409, 413, 422))
_ROLES = ("owner", "editor", "reviewer", "reader")
_TOOLS = ("memory_search", "memory_store", "memory_get", "memory_delete", "memory_update")
_PROTOCOL = "2025-06-18"
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Victims:
    """Whose memories are attacked, and what an attacker may know of them."""

    ids: Sequence[str]
    cursors: Sequence[str]
    hidden: Sequence[str]  # numbers in their texts
    session: str  # of MCP, as if it had been overheard


@dataclass(frozen=True)
class Attacker:
    """Somebody with a key of a role on memories of its own."""

    name: str
    role: str
    key: str
    session: str  # of MCP


def crossed(folder: Path, *, calls: int, seed: int, progress: Progress = silent) -> Report:
    """Random calls over every route by every role, then what there is of the victims."""
    names = ("calls", "answered", "refused", "foreign rows", "foreign changes", "beyond a role")
    report, dice = Report(dict.fromkeys(names, 0)), random.Random(seed)
    ticker = Ticker(progress, calls)
    with served(folder, UNLIMITED, embedder="none") as service:
        victims = _victims(service)
        attackers = [_attacker(service, role) for role in _ROLES]
        before, offered = _state(service), [*routes().values()]
        schemas = description(routes())
        connection = HTTPConnection(urlsplit(service.url).netloc, timeout=60)
        for number in range(calls):
            route = offered[number % len(offered)]
            who = attackers[number // len(offered) % len(attackers)]
            call = _Call(dice, victims, who, route, schemas)
            status, said = _sent(connection, call)
            _judge(report, call, status, said, victims)
            ticker.tick(number + 1)
        connection.close()
        report.figures["routes"], report.figures["roles"] = len(offered), len(attackers)
        for what, now in _state(service).items():
            if now != before[what]:
                report.broken("foreign changes", what)
    return report


class _Call:
    """One request: where, with what key, under which headers, with which options."""

    def __init__(
        self,
        dice: random.Random,
        victims: Victims,
        who: Attacker,
        route: ServiceRoute,
        schemas: Mapping[str, Any],
    ) -> None:
        self._dice, self._victims, self._schemas = dice, victims, schemas
        self.who, self.route, self.other = who, route, dice.choice(USERS)
        body = schemas["paths"][route.path]["post"]["requestBody"]["content"]["application/json"]
        self.body = json.dumps(self._options(body["schema"]))
        self.path, self.token, self.own = route.path, f"Bearer {who.key}", False
        self.headers: Headers = []
        bends = (self._to_victim, self._twice, self._path, self._token, self._mcp)
        dice.choice((*bends, self._to_victim, self._open, self._own, self._own))()
        if not any(name == "Authorization" for name, _ in self.headers):
            self.headers.append(("Authorization", self.token))

    def _options(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        needed = schema.get("required", ())
        return {
            name: self._value(kind) if self._dice.random() < 0.95 else self._text()
            for name, kind in schema.get("properties", {}).items()
            if name in needed or self._dice.random() < 0.05
        }

    def _value(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """A value of a schema that names what is the victims'."""
        dice = self._dice
        if "$ref" in schema:
            schema = self._schemas["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        if "anyOf" in schema:
            return self._value(dice.choice(schema["anyOf"]), depth)
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else dice.choice(schema["enum"])
        match schema.get("type"):
            case "object" if depth < 4:
                return {
                    name: self._value(kind, depth + 1)
                    for name, kind in schema.get("properties", {}).items()
                } or {"user": self.other}
            case "array" if depth < 4:
                items = schema.get("items", {})
                return [self._value(items, depth + 1) for _ in range(dice.randint(1, 2))]
            case "boolean":
                return dice.random() < 0.8
            case "integer" | "number":
                return dice.choice((1, 3, 50, -1, 0.5))
            case "null":
                return None
            case _:
                return self._text()

    def _text(self) -> str:
        """What names the victims' memories in one of the ways in which texts do."""
        dice, other = self._dice, self.other
        return str(
            dice.choice(
                (
                    *dice.sample(self._victims.ids, 2), dice.choice(self._victims.cursors), other,
                    f"pearl of {other}", "pearl", f"user:{other}", f"user.{other}", TEAM, "*",
                    f"user = '{other}'", f"namespace = '{TEAM}' or 1 = 1", "text like '%pearl%'",
                    f"../{TEAM}", f"{other}' OR '1'='1", "memory-mesh.service",
                )
            )
        )  # fmt: skip

    def _place(self) -> tuple[str, str]:
        name = self.other
        return self._dice.choice(
            (
                ("User", name), ("User", quote(f"user:{name}", safe="")), ("User", f"{name}%20"),
                ("User", f"../{name}"), ("User", f"%2e%2e%2f{name}"), ("User", f"{name}%00"),
                ("User", name.upper()), ("User", f"%{ord(name[0]):x}{name[1:]}"),
                ("Namespace", TEAM), ("Namespace", f"user.{name}"), ("Namespace", f"./{TEAM}"),
                ("Namespace", f"{self.who.name}/../{TEAM}"), ("Namespace", "memory-mesh.service"),
                ("Namespace", f"%76{TEAM[1:]}"), ("Namespace", f"{TEAM}%00{self.who.name}"),
            )
        )  # fmt: skip

    def _to_victim(self) -> None:
        name, value = self._place()
        self.headers += [(f"Memory-Mesh-{name}", value)]
        if self._dice.random() < 0.3:
            self.headers += [("Memory-Mesh-Channel", "library"), ("Memory-Mesh-Agent", self.other)]

    def _twice(self) -> None:
        """The own place and the victim's, in either order or joined."""
        own, (name, value) = ("User", self.who.name), self._place()
        places = [own, (name, value)] if self._dice.random() < 0.5 else [(name, value), own]
        if self._dice.random() < 0.3:
            places = [("User", f"{self.who.name}, {self.other}")]
        self.headers += [(f"Memory-Mesh-{each}", text) for each, text in places]

    def _path(self) -> None:
        path, other = self.route.path, self.other
        self.path = self._dice.choice(
            (
                f"{path}?user={other}", f"{path}?Memory-Mesh-User={other}", f"{path};user={other}",
                f"{path}/", path.replace("/v1/", "/v1//"), path.replace("/v1", "/v1/../v1"),
                path.upper(), f"{path}%2f", f"{path}/../../metrics", f"/users/{other}{path}",
                f"{path}%00", "/metrics", "/v1/care/access_keys/get_all", "//evil/v1/users",
                path.replace("/v1/", "/v1/%63are/"), f"{path}#{other}",
            )
        )  # fmt: skip
        self._to_victim()
        if self._dice.random() < 0.5:
            self.headers += [("X-Original-URL", path), ("X-Forwarded-User", other),
                             ("X-HTTP-Method-Override", "GET")]  # fmt: skip

    def _token(self) -> None:
        key, dice = self.who.key, self._dice
        mark, id_, pearl = key.split("_", 2)
        self.token = dice.choice(
            (
                f"Bearer {mark}_{secrets.token_hex(4)}_{pearl}", f"Bearer {mark}_{id_}_",
                f"Bearer {mark}__{pearl}", f"Bearer {mark}_%_{pearl}", f"Bearer {mark}_{id_}",
                f"Bearer {key[:-1]}", f"Bearer {key}x", "Bearer null", "Bearer", f"Basic {key}",
                f"Bearer {key} {key}", "Bearer ' OR 1=1", f"bearer {key}", "Bearer " + "a" * 5_000,
                "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJmaXJzdCJ9.",
            )
        )  # fmt: skip
        self.headers += [("Cookie", f"key={key}"), ("X-API-Key", key)]
        self._to_victim()

    def _mcp(self) -> None:
        tool = self._dice.choice(_TOOLS)
        given = {"query": "pearl", "content": f"pearl of {self.other}", "id": self._text()}
        asked = {"name": tool, "arguments": given | {"user": self.other}}
        self.path = "/mcp"
        self.body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
        session = self._dice.choice((self.who.session, self._victims.session))
        self.headers += [("Accept", "application/json, text/event-stream"),
                         ("Content-Type", "application/json"), ("Mcp-Session-Id", session),
                         ("MCP-Protocol-Version", _PROTOCOL)]  # fmt: skip
        self._to_victim()

    def _open(self) -> None:
        """The team where all may read."""
        self.headers += [("Memory-Mesh-Namespace", OPEN)]
        self.own = True

    def _own(self) -> None:
        self.headers += [("Memory-Mesh-User", self.who.name)]
        self.own = True

    @property
    def may(self) -> Sequence[str]:
        """The scopes of the key where the call goes, if it goes where the key is good for."""
        return ROLES["reader" if ("Memory-Mesh-Namespace", OPEN) in self.headers else self.who.role]

    def __str__(self) -> str:
        return f"{self.who.role} {self.path} {self.body[:600]} {self.headers}"


def _sent(connection: HTTPConnection, call: _Call) -> tuple[int, str]:
    data = call.body.encode()
    connection.putrequest("POST", call.path, skip_accept_encoding=True)
    for name, value in [*call.headers, ("Content-Length", str(len(data)))]:
        connection.putheader(name, value)
    connection.endheaders(data)
    answer = connection.getresponse()
    return answer.status, answer.read().decode(errors="replace")


def _judge(report: Report, call: _Call, status: int, said: str, victims: Victims) -> None:
    report.count("calls")
    if any(number in said for number in victims.hidden):
        report.broken("foreign rows", f"{call}: {said}")
    if status == 200:
        report.count("answered")
        if call.own and call.route.needs not in call.may:
            report.broken("beyond a role", f"{call}: {said}")
    elif status in REFUSED:
        report.count("refused")
    else:
        report.broken("neither answered nor refused", f"{status} {call}: {said}")


def _victims(service: Served) -> Victims:
    ids, cursors, hidden = list[str](), list[str](), list[str]()
    for place in _places(service.behind):
        said = [secrets.token_hex(8) for _ in range(4 + EACH)]
        for at, number in enumerate(said[:EACH]):
            ids.append(place.add(f"pearl of {place.config.namespace} {at}: {number}").id or "")
        place.update(ids[-1], content=f"pearl anew: {said[EACH]}", tags=["pearl"])
        place.graph.link(ids[-1], ids[-2])
        ids.append(place.lessons.record(f"pearl lesson: {said[EACH + 1]}").memory_id)
        ids.append(place.graph.create_episode(f"pearl {said[EACH + 2]}", ids=ids[-2:]).id)
        ids.append(place.traces.record(f"pearl goal {said[EACH + 3]}").id or "")
        cursors.append(place.get_all(limit=1).cursor or "")
        hidden += said
    service.behind.view(namespace=OPEN).add("open to all who read: pearl")
    key = service.new_key("ann", {"user:ann": "owner"}, speaks_as="user")
    return Victims(ids, cursors, hidden, _session(service, key))


def _places(mesh: MemoryMesh) -> list[MemoryMesh]:
    return [*map(mesh.for_user, USERS), mesh.view(namespace=TEAM)]


def _attacker(service: Served, role: str) -> Attacker:
    name = f"eve-{role}"
    own = service.behind.for_user(name)
    for at in range(EACH):
        own.add(f"a pearl of her own, {at}")
    key = service.new_key(name, {f"user:{name}": role, OPEN: "reader"}, speaks_as="user")
    return Attacker(name, role, key, _session(service, key))


def _session(service: Served, key: str) -> str:
    """The id of a session of MCP that the holder of a key has begun."""
    about = {"protocolVersion": _PROTOCOL, "capabilities": {}}
    about["clientInfo"] = {"name": "test", "version": "1"}
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    with urlopen(Request(f"{service.url}/mcp", json.dumps(asked).encode(), headers)) as answer:
        return str(answer.headers["Mcp-Session-Id"])


def _state(service: Served) -> dict[str, object]:
    """All that there is of the victims, of what all may read, and of the keys but their use."""
    keys = service.behind.care.access_keys.get_all()
    found: dict[str, object] = {"keys": [(key.id, key.grants, key.revoked) for key in keys]}
    statuses = ["quarantined", "disputed", "superseded", "archived", "deleted", "expired"]
    open_ = service.behind.view(namespace=OPEN)  # its counters of use may change
    found[f"{OPEN}: blocks"] = open_.care.blocks(limit=1_000)
    for place in _places(service.behind):
        name = place.config.namespace
        found[f"{name}: memories"] = list(place.get_all(include=statuses, limit=1_000))
        found[f"{name}: blocks"] = place.care.blocks(limit=1_000)
        found[f"{name}: recalls"] = len(place.care.recalls(limit=1_000))
    return found
