"""The redactor of one store: the key is read and the rules are loaded when a text needs them."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.model import Json
from memory_mesh.policy import privacy
from memory_mesh.process import forks
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.policy.privacy import Redactor, Rule
    from memory_mesh.process.keyring import FormerMarks, Keyring
    from memory_mesh.process.keys import Key


def _texts(value: Json) -> Iterator[str]:
    """Every text and number within a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int | float):
        yield str(value)


class StoreRedactor:
    """Implements `ports.Redactor`; a text that no rule could match costs next to nothing."""

    def __init__(
        self,
        namespace: str,
        keys: "StoreKeys",
        rules: Sequence[Mapping[str, object]] = (),
        names: "Callable[[], Sequence[Rule]] | None" = None,
        *,
        kinds: Sequence[str] = (),
        country: str = "",
    ) -> None:
        """Keep the settings; `names` gives the rules for the user's names when first needed.

        `kinds` are replaced on request; `country` is the one whose phone numbers need no prefix.
        """
        self._namespace = namespace
        self._keys = keys
        self._under: tuple[Key, ...] = ()  # the keys that the rules were loaded with
        self._settings, self._find_names = rules, names
        self._kinds, self._country = kinds, country
        self._always = bool(rules or kinds)
        self._names: Sequence[Rule] = ()
        self._redactor: Redactor | None = None
        self._without_names: Redactor | None = None
        self._loading = threading.Lock()
        forks.protect(self)

    def text(self, value: str) -> str:
        """The text with a placeholder for each personal datum or secret."""
        if not self._always and not self._may_match(value):
            return value
        return self._loaded().text(value)

    def identity(self, value: str) -> str:
        """The same for what identifies a project, an agent or a file: names are kept in it."""
        if not self._always and not privacy.suspicious(value):
            return value
        self._loaded()
        return value if self._without_names is None else self._without_names.text(value)

    def json(self, value: Json) -> Json:
        """The same for every text within a value."""
        if not self._always and not any(map(self._may_match, _texts(value))):
            return value
        return self._loaded().json(value)

    def after_fork(self) -> None:
        """A child loads under its own lock."""
        self._loading = threading.Lock()

    def _may_match(self, value: str) -> bool:
        if privacy.suspicious(value):
            return True
        if self._find_names is not None:
            with self._loading:
                if self._find_names is not None:
                    self._names, self._find_names = self._find_names(), None
        return privacy.mentioned(value, self._names)

    def _loaded(self) -> "Redactor":
        with self._loading:
            keys = self._keys.ring.keys()
            if self._redactor is None or keys != self._under:
                own = privacy.user_rules(self._settings) if self._settings else ()
                own += privacy.kinds(self._kinds) if self._kinds else ()
                if self._find_names is not None:
                    self._names, self._find_names = self._find_names(), None
                self._without_names = self._made(keys, own, ())
                self._redactor = (
                    self._made(keys, own, self._names) if self._names else self._without_names
                )
                self._under = keys
            return self._redactor

    def _made(
        self, keys: "Sequence[Key]", own: "Sequence[Rule]", names: "Sequence[Rule]"
    ) -> "Redactor":
        *older, newest = (key.secret for key in keys)
        return privacy.Redactor(
            newest,
            self._namespace,
            own,
            names,
            country=self._country,
            older=tuple(older),
            note=self._keys.former.note,
        )


class StoreKeys:
    """The keys of one store, shared by all who redact and seal for it in a process."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        """Keep the folder; `environment` says where keys lie, by default that of this process."""
        self._folder, self._environment = folder, environment
        self._ring: Keyring | None = None
        self._former: FormerMarks | None = None

    @property
    def ring(self) -> "Keyring":
        """The keys; what reads them is loaded when a text needs it."""
        if self._ring is None:
            from memory_mesh.process.keyring import Keyring

            self._ring = Keyring(self._folder, self._environment)
        return self._ring

    @property
    def former(self) -> "FormerMarks":
        """The placeholders of older keys."""
        if self._former is None:
            from memory_mesh.process.keyring import FormerMarks

            self._former = FormerMarks()
            forks.protect(self._former)
        return self._former


class Sealer:
    """Turns a value into a digest that says nothing without the store's key.

    Implements `flows.access.Seal`. What was sealed before a rotation is asked for under every key.
    """

    def __init__(self, namespace: str, keys: StoreKeys) -> None:
        self._namespace, self._keys = namespace, keys

    def __call__(self, value: str) -> bytes:
        """The value under the key in use, which is read when the first value is sealed."""
        return self._digest(self._keys.ring.keys()[-1], value)

    def under_each(self, value: str) -> list[bytes]:
        """The value under every key of the store, the one in use first."""
        return [self._digest(key, value) for key in reversed(self._keys.ring.keys())]

    def former(self, text: str) -> tuple[str, ...]:
        """The text with the placeholders of each older key; none where there was no rotation."""
        older = len(self._keys.ring.keys()) - 1
        return self._keys.former.texts(text, older) if older else ()

    def _digest(self, key: "Key", value: str) -> bytes:
        from memory_mesh.process.digests import keyed_digest

        return keyed_digest(key.secret, f"seal\0{self._namespace}\0{value}".encode())
