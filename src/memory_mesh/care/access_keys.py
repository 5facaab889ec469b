"""The keys of the service: who may do what in which namespace; kept in the store that it serves.

::

    mm_4f9c21ab_…secret…   the first part names the key, the digest of the whole is kept

They are small values of one reserved namespace, so that a folder and a database hold them alike,
several processes share them, and each change is a block of that namespace's chain.
"""

import json
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest

from memory_mesh.base.typed import Any, replace
from memory_mesh.model import (
    BlockOperation,
    Channel,
    Commit,
    Entry,
    InvalidInput,
    NotAllowed,
    NotFound,
    Standing,
    Wanted,
)
from memory_mesh.model.care import AccessKey
from memory_mesh.rules.arguments import check_text, user_of
from memory_mesh.write.access import Access

NAMESPACE = "memory-mesh.service"
READ, WRITE, REVIEW, ERASE, ADMIN = SCOPES = ("read", "write", "review", "erase", "admin")
ROLES: Mapping[str, tuple[str, ...]] = {
    "reader": (READ,),
    "editor": (READ, WRITE),
    "reviewer": (READ, REVIEW),
    "owner": (READ, WRITE, REVIEW, ERASE),
    "admin": SCOPES,
}
SPEAKERS = {"user": Channel.LIBRARY, "agent": Channel.MCP}
EVERYWHERE = "*"
_STATE, _USED = "access_key:", "access_key_used:"
_MARK = "mm"
_ID_BYTES, _SECRET_BYTES = 4, 24
_NOTED = timedelta(hours=1)  # how exactly the last use is kept
_LONGEST_DAYS, _LONGEST_HOURS, _LONGEST_NAME = 3_650, 720, 100


def check(key: AccessKey, scope: str, namespace: str) -> None:
    """Raises NotAllowed, which says what the key lacks, unless it may do this there."""
    user = user_of(namespace)
    places = (namespace,) if user is None else (f"user:{user}", "user:*")
    role = next((key.grants[one] for one in (*places, EVERYWHERE) if one in key.grants), None)
    if namespace == NAMESPACE or role is None or scope not in scopes(role):
        where = f"the namespace {namespace}" if user is None else f"user {user}"
        where = "the whole store" if namespace == EVERYWHERE else where
        does = "work as an admin" if scope == ADMIN else scope
        raise NotAllowed(
            f"the key {key.name!r} may not {does} in {where}; ask whoever runs the service for "
            "a key that may"
        )


def add(
    access: Access,
    now: datetime,
    name: str,
    *,
    grants: Mapping[str, str],
    speaks_as: str = "agent",
    days: int | None = None,
) -> AccessKey:
    """Makes a key; its text is in the result, and only its digest is kept."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME or not grants:
        raise InvalidInput(
            f"a key needs a name of 1 to {_LONGEST_NAME} printable characters, and a place where "
            "it may do something"
        )
    check_grants(grants)
    if speaks_as not in SPEAKERS:
        raise InvalidInput(f"speaks_as must be one of {', '.join(SPEAKERS)}, not {speaks_as!r}")
    if days is not None and not 1 <= days <= _LONGEST_DAYS:
        raise InvalidInput(f"days must be 1 to {_LONGEST_DAYS}")
    expires = None if days is None else now + timedelta(days=days)
    id_ = secrets.token_hex(_ID_BYTES)
    text = f"{_MARK}_{id_}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    key = AccessKey(id_, name, dict(grants), speaks_as, now, expires)
    _write(access, key, _digest(text), f"made the key {id_}")
    return replace(key, text=text)


def check_grants(grants: Mapping[str, str]) -> None:
    """Raises InvalidInput for a place or a role that there is not."""
    for place, role in grants.items():
        check_text(place, "a place")
        if place == NAMESPACE or (ADMIN in scopes(role) and place != EVERYWHERE):
            raise InvalidInput(f"{place}={role} opens nothing: admin is of the whole store, *")


def get_all(access: Access) -> list[AccessKey]:
    """Every key, the newest first; revoked ones too."""
    keys = [key for key, _ in _read(access, "")]
    return sorted(keys, key=lambda key: key.created, reverse=True)


def find(access: Access, text: str, now: datetime) -> AccessKey | None:
    """The key of this text; None if there is none, or if it is over."""
    mark, _, rest = text.partition("_")
    id_ = rest.partition("_")[0]
    if mark != _MARK or not id_:
        return None
    for key, digest in _read(access, id_):
        if compare_digest(digest, _digest(text)) and not key.is_over(now):
            return key
    return None


def revoke(access: Access, now: datetime, id_: str, *, hours: int = 0) -> AccessKey:
    """Ends a key now, or after so many hours."""
    if not 0 <= hours <= _LONGEST_HOURS:
        raise InvalidInput(f"hours must be 0 to {_LONGEST_HOURS}")
    for key, digest in _read(access, id_):
        if key.id == id_:
            end = now + timedelta(hours=hours)  # one that is over stays so
            ended = replace(key, revoked=min(end, key.revoked or end))
            _write(access, ended, digest, f"revoked the key {id_}")
            return ended
    raise NotFound(f"there is no key {id_}; list them: memory-mesh server keys")


def rotate(access: Access, now: datetime, id_: str, *, hours: int) -> AccessKey:
    """Makes a key with the same grants; the old one opens the store for so many hours more."""
    old = revoke(access, now, id_, hours=hours)
    days = None if old.expires is None else max(1, (old.expires - old.created).days)
    return add(access, now, old.name, grants=old.grants, speaks_as=old.speaks_as, days=days)


def note_use(access: Access, key: AccessKey, now: datetime) -> None:
    """Keeps when a key was last used, to the hour."""
    if key.last_used is None or now - key.last_used >= _NOTED:
        states = {f"{_USED}{key.id}": now.isoformat()}
        access.ledger.commit(NAMESPACE, Wanted(), lambda _standing: Commit(states=states))


def scopes(role: str) -> tuple[str, ...]:
    """The scopes that a role, or scopes joined by +, stand for."""
    found = ROLES.get(role) or tuple(str(role).split("+"))
    if not set(found) <= set(SCOPES):
        raise InvalidInput(
            f"there is no role {role!r}: use one of {', '.join(ROLES)}, or scopes such as "
            f"read+write, of {', '.join(SCOPES)}"
        )
    return found


def _write(access: Access, key: AccessKey, digest: str, said: str) -> None:
    plain = {
        "name": key.name,
        "grants": dict(key.grants),
        "speaks_as": key.speaks_as,
        "created": key.created.isoformat(),
        "expires": key.expires and key.expires.isoformat(),
        "revoked": key.revoked and key.revoked.isoformat(),
        "digest": digest,
    }

    def decide(standing: Standing) -> Commit:
        entry = Entry(
            id=access.ids.draw("yamo_change"),
            operation=BlockOperation.CHANGE,
            agent=access.agent,
            at=standing.at,
            memories=(),
            wire=None,
            metadata={"reason": said, "key": key.name, "grants": dict(key.grants)},
        )
        return Commit(entries=(entry,), states={f"{_STATE}{key.id}": json.dumps(plain)})

    access.ledger.commit(NAMESPACE, Wanted(), decide)


def _read(access: Access, beginning: str) -> list[tuple[AccessKey, str]]:
    """The keys whose ids begin so, each with its digest."""
    with access.ledger.read(NAMESPACE) as snapshot:
        states = snapshot.states(f"{_STATE}{beginning}")
        used = snapshot.states(f"{_USED}{beginning}")
    return [
        _key(name.removeprefix(_STATE), json.loads(text), used) for name, text in states.items()
    ]


def _key(id_: str, plain: dict[str, Any], used: Mapping[str, str]) -> tuple[AccessKey, str]:
    digest = plain.pop("digest")
    times = {name: plain.pop(name) for name in ("created", "expires", "revoked")}
    times["last_used"] = used.get(f"{_USED}{id_}")
    read: dict[str, Any] = {name: at and datetime.fromisoformat(at) for name, at in times.items()}
    return AccessKey(id=id_, **plain, **read), digest


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
