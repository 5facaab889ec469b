"""What capture knows of a session: where it writes, and what the session stored so far."""

from collections.abc import Iterable, Mapping

from memory_mesh.base.typed import TYPE_CHECKING, Protocol, dataclass, field
from memory_mesh.formats.private import split_private
from memory_mesh.learn.rules.instructions import base
from memory_mesh.model import Channel, Kind, Memory, Receipt, Scope, SourceKind, Status
from memory_mesh.model.learning import ExtractionRules, Turn
from memory_mesh.text import analyzer
from memory_mesh.write.rules.receipts import redaction

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

MUCH = 8  # messages of a session that are worth a call of a language model
MOST = 60  # memories of one session; a session that reads as more is one that the rules misread
CANDIDATE_TAG = "#lesson_learned_candidate"
_SAID = {"UserPromptSubmit": ("user", "prompt"), "Stop": ("assistant", "last_assistant_message")}
_MIN_HIDDEN = 4  # letters of a private word that is looked for in what others say


class HostSession(Protocol):
    """What capture needs of a session; `agents.sessions.Session` is one."""

    @property
    def id(self) -> str:
        """The name of the session at its host."""

    def hide(self, words: Iterable[str]) -> None:
        """Remember words that the user marked as private, sealed."""

    def hides(self, text: str) -> bool:
        """Whether a text has a word that the user marked as private."""

    def chosen(self, key: str, ids: Iterable[str]) -> list[str]:
        """The ids that were chosen under a key before, else these, from now on."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What one event stored or changed, and how many of it are for all of the user's projects."""

    receipts: tuple[Receipt, ...] = ()
    for_person: int = 0
    replaced: Mapping[str, int] = field(default_factory=dict)  # of what the user said, by kind

    @property
    def line(self) -> str | None:
        """What the user is told of it; None if there is nothing to tell."""
        parts = []
        if self.for_person:
            parts.append(f"stored for all your projects: {self.for_person}")
        if self.replaced:
            parts.append(f"a part of what you said was not stored; {redaction(self.replaced)}")
        return "; ".join(parts) or None


@dataclass(frozen=True, slots=True)
class CapturedEvent:
    """One event's way to the store."""

    mesh: "MemoryMesh"
    session: HostSession
    key: str | None

    @property
    def project(self) -> str | None:
        """The project of the session."""
        return self.mesh.config.project

    def public(self, text: object) -> str:
        """The text without its private parts, whose words are kept from being repeated."""
        public, private = split_private(text if isinstance(text, str) else "")
        said = set(analyzer.terms(public))
        hidden = [word for word in private.split() if not said.issuperset(analyzer.terms(word))]
        hidden = [word for word in hidden if len(word) >= _MIN_HIDDEN and not base(word)]
        if hidden:
            self.session.hide(hidden)
        return public

    def of_others(self, text: object) -> str:
        """What a tool or the assistant said; nothing if it repeats a private word."""
        public, _ = split_private(text if isinstance(text, str) else "")
        return "" if self.session.hides(public) else public

    def view(self, channel: Channel) -> "MemoryMesh":
        """The store as one of those who speak in the session writes to it."""
        return self.mesh.view(channel=channel)

    def stored(self) -> list[Memory]:
        """What the session stored so far, the newest first."""
        quoted = self._ref.replace("'", "''")
        include = [Status.QUARANTINED]
        return list(
            self.mesh.get_all(limit=MOST, filter=f"source_ref = '{quoted}'", include=include)
        )

    def chosen(self, what: str, ids: Iterable[str]) -> list[str]:
        """The memories that this event changes: when it comes again, the same ones."""
        return self.session.chosen(f"{self.key}:{what}", ids) if self.key else list(ids)

    def add(
        self,
        channel: Channel,
        text: str,
        kind: Kind,
        place: object,
        *,
        personal: bool = False,
        **options: object,
    ) -> Receipt:
        """Stores one memory of this event; `place` tells several of one event apart."""
        said_by = SourceKind.USER_EXPLICIT if channel is Channel.HOOK else SourceKind.TOOL_OUTPUT
        item = {
            "content": text,
            "kind": kind,
            "scope": Scope() if personal else Scope(project=self.project),
            "source_kind": said_by if channel is not Channel.ASSISTANT else SourceKind.INFERENCE,
            "source_ref": self._ref,
            **options,
        }
        if self.key:
            item["key"] = f"{self.key}:{place}"
        if not personal and (cited := self.mesh._cited_in(text)):  # noqa: SLF001
            item["evidence"] = cited
        return self.view(channel).add_many([item])[0]

    def ask_model(self, event: str, given: Mapping[str, object]) -> tuple[Receipt, ...]:
        """Keeps what was said for a language model, where the settings let it be asked.

        It is asked at the end, before a compaction, and when much has been said.
        """
        if not self.mesh.config.extract_sessions:
            return ()
        scope, learn, waiting = Scope(project=self.project), self.mesh.learn, 0
        if event in _SAID:
            role, name = _SAID[event]
            said = (
                self.public(given.get(name)) if role == "user" else self.of_others(given.get(name))
            )
            if said.strip():
                turn = Turn(role=role, text=said)
                waiting = learn._wait_for_model(turn, self.session.id, self.key, scope)  # noqa: SLF001
        if event in _SAID and waiting < MUCH:
            return ()
        return learn._extract([], ExtractionRules(), scope).receipts  # noqa: SLF001

    @property
    def _ref(self) -> str:
        return f"session {self.session.id}"
