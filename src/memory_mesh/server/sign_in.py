"""People who sign in at an OpenID provider: a token of theirs stands in place of a key.

::

    token ──▶ a JWT: signature by the issuer's JWKS, issuer, audience, time ─▶ claims
          └─▶ else, if allowed: the issuer's userinfo ───────────────────────▶ claims
    claims ──▶ who (`sub`) and groups ──▶ places and roles, as of a key that speaks as the user

Everybody has their own memories; what a group may do is said when the service is started.
"""

import json
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime

import jwt

from memory_mesh.base.typed import Any, dataclass, field
from memory_mesh.care.access_keys import check_grants, scopes
from memory_mesh.model import InvalidInput, NetworkError, StoreIsAway
from memory_mesh.model.care import AccessKey
from memory_mesh.models.http import address
from memory_mesh.models.http.client import Client, Limits
from memory_mesh.rules.arguments import user_namespace

EVERYBODY = "*"
METADATA = "/.well-known/oauth-protected-resource"
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
_LIMITS = Limits(connect_seconds=3, read_seconds=5, total_seconds=10, attempts=2, max_bytes=1 << 20)
_FRESH_SECONDS = 300.0  # that the keys of an issuer are believed
_SOONEST_SECONDS = 30.0  # between two looks for a key that is not among them
_LEEWAY_SECONDS = 30
_DISCOVERY = "/.well-known/openid-configuration"
_HERE = {address.Zone.LOOPBACK}


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who signs people in for the service, and what they may do then."""

    url: str
    service: str  # where clients reach the service; tokens are for it, or for `audience`
    audience: str | None = None
    user: str = "sub"  # the claim that says whose memories are theirs
    groups: str = "groups"  # the claim with the groups of a person
    grants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by group
    asks: bool = False  # the issuer about tokens that are no JWT

    @property
    def challenge(self) -> str:
        """What a client is told that has no token: where it reads how to get one."""
        return f' resource_metadata="{self.service}{METADATA}"'

    def check(self) -> None:
        """Raises InvalidInput for what opens nothing, or for an issuer that others can play."""
        target = address.parse(self.url)
        if target.scheme != "https" and address.reach_of(target.host) != _HERE:
            raise InvalidInput(f"an issuer is reached by https, not by {self.url}")
        for grants in self.grants.values():
            check_grants(grants)


class SignIn:
    """Knows the tokens of an issuer; safe in threads."""

    def __init__(self, issuer: Issuer) -> None:
        """Ask nothing yet."""
        issuer.check()
        self.issuer = issuer
        self._about: dict[str, Any] = {}
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._looked = -_FRESH_SECONDS
        self._looking = threading.Lock()

    def key_of(self, token: str) -> AccessKey | None:
        """What a token stands for; None if it is not valid. StoreIsAway if nobody can say."""
        try:
            claims = self._claims(token)
            return None if claims is None else self._key(claims)
        except NetworkError as error:
            raise StoreIsAway(f"{error}. People cannot sign in until it answers") from None
        except (jwt.PyJWTError, InvalidInput):
            return None

    def _claims(self, token: str) -> Mapping[str, Any] | None:
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.DecodeError:
            return self._told(token) if self.issuer.asks else None
        key = self._signing_key(key_id)
        if key is None:
            return None
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(_ALGORITHMS),
            audience=self.issuer.audience or [self.issuer.service, f"{self.issuer.service}/mcp"],
            issuer=self._discovered()["issuer"],
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims

    def _told(self, token: str) -> Mapping[str, Any] | None:
        """What the issuer says of the owner of a token; None if it does not know it."""
        headers = {"Authorization": f"Bearer {token}"}
        try:
            return self._get(self._discovered()["userinfo_endpoint"], headers)
        except NetworkError as error:
            if " answered 4" in str(error):  # it is up, and knows no such token
                return None
            raise

    def _signing_key(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key of this id; one that is new is looked for, but not with every wrong token."""
        with self._looking:
            age = time.monotonic() - self._looked
            known = key_id in self._keys
            if age >= _FRESH_SECONDS or (not known and age >= _SOONEST_SECONDS):
                self._about = {}
                found = jwt.PyJWKSet.from_dict(dict(self._get(self._discovered()["jwks_uri"]))).keys
                self._keys = {key.key_id: key for key in found}
                self._looked = time.monotonic()
            if key_id is None and len(self._keys) == 1:  # then a token need not name it
                return next(iter(self._keys.values()))
            return self._keys.get(key_id)

    def _discovered(self) -> Mapping[str, Any]:
        if not self._about:
            about = dict(self._get(f"{self.issuer.url.rstrip('/')}{_DISCOVERY}"))
            if str(about.get("issuer", "")).rstrip("/") != self.issuer.url.rstrip("/"):
                raise NetworkError(f"{self.issuer.url} says that it is another issuer")
            self._about = about
        return self._about

    def _get(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        base, _, path = url.rpartition("/")
        secrets = tuple((headers or {}).values())
        client = Client(base, headers=headers, secrets=secrets, limits=_LIMITS)
        try:
            found = json.loads(client.request("GET", path))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise NetworkError(f"{url} answered with something that is no JSON object")
        return found

    def _key(self, claims: Mapping[str, Any]) -> AccessKey | None:
        """What stands for a key: the own memories of the person, and what their groups may do."""
        who, groups = claims.get(self.issuer.user), claims.get(self.issuer.groups) or ()
        if not isinstance(who, str) or not who.isprintable() or "*" in who:  # user:* is everybody
            return None
        user_namespace(who)
        named = groups if isinstance(groups, list) else [groups]
        may = {f"user:{who}": {*scopes("owner")}}
        for group in (EVERYBODY, *(str(each) for each in named)):
            for place, role in self.issuer.grants.get(group, {}).items():
                may.setdefault(place, set()).update(scopes(role))
        grants = {place: "+".join(sorted(held)) for place, held in may.items()}
        now, end = datetime.now(UTC), claims.get("exp")
        until = datetime.fromtimestamp(end, UTC) if isinstance(end, int | float) else None
        return AccessKey(f"openid:{who}", who, grants, "user", now, until)
