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
        folder: Path,
        rules: Sequence[Mapping[str, object]] = (),
        names: "Callable[[], Sequence[Rule]] | None" = None,
        *,
        kinds: Sequence[str] = (),
        country: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the settings; `names` gives the rules for the user's names when first needed.

        `kinds` are replaced on request; `country` is the one whose phone numbers need no prefix;
        `environment` says where the key lies, by default that of this process.
        """
        self._environment = environment
        self._namespace, self._folder = namespace, folder
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
            if self._redactor is None:
                from memory_mesh.process import keys

                own = privacy.user_rules(self._settings) if self._settings else ()
                own += privacy.kinds(self._kinds) if self._kinds else ()
                key = keys.key_for(self._folder, self._environment)
                if self._find_names is not None:
                    self._names, self._find_names = self._find_names(), None
                country, namespace = self._country, self._namespace
                plain = privacy.Redactor(key, namespace, own, country=country)
                self._without_names = plain
                self._redactor = (
                    privacy.Redactor(key, namespace, own, self._names, country=country)
                    if self._names
                    else plain
                )
            return self._redactor


class Sealer:
    """Turns a value into a digest that says nothing without the store's key."""

    def __init__(
        self, namespace: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._namespace, self._folder, self._environment = namespace, folder, environment
        self._key: bytes | None = None

    def __call__(self, value: str) -> bytes:
        """The value under the key, which is read when the first value is sealed."""
        from memory_mesh.process.digests import keyed_digest

        if self._key is None:
            from memory_mesh.process import keys

            self._key = keys.key_for(self._folder, self._environment)
        return keyed_digest(self._key, f"seal\0{self._namespace}\0{value}".encode())
