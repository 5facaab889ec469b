"""Learn from a conversation: `mesh.learn`."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias
from memory_mesh.formats.private import without_private
from memory_mesh.mesh import flows
from memory_mesh.mesh.options import Audience
from memory_mesh.mesh.view import View
from memory_mesh.model import (
    InvalidInput,
    Scope,
)
from memory_mesh.model.learning import Extraction, ExtractionRules, Turn
from memory_mesh.rules.arguments import check_metadata, check_share, check_text

if TYPE_CHECKING:
    from memory_mesh.learn.extraction import ExtractionSite

_DIGITS = 16  # of a session's name in the queue
GivenTurn: TypeAlias = "str | Mapping[str, object] | Turn"


class LearnVerbs(View):
    """What conversations teach: `mesh.learn`."""

    def extract(
        self,
        messages: str | Sequence[GivenTurn] = (),
        *,
        roles: Sequence[str] = ("user",),
        min_importance: float = 0.4,
        use_model: bool | None = None,
        store: bool = True,
        ref: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, object] | None = None,
        discard: str | None = None,
        scope: Audience = None,
    ) -> Extraction:
        """Finds facts that a conversation states, and stores each that no memory says yet.

        A message is a mapping with `role`, `content` and perhaps `name`, or a text of the user.
        Without a language model rules find the sentences of users that state something for good.
        With one, each fact must quote what a participant of an allowed role wrote himself, not
        code, output or what he pasted; others are dropped with a reason. A model's fact has the
        trust of an inference. If no model answers, or a limit is reached, nothing is stored: the
        messages wait and are tried again with the next call. Without messages it only does that.

        Options:
            roles: whose words may be kept: user, assistant or both.
            min_importance: leave out facts less important than this, 0 to 1.
            use_model: True for the language model, False for rules; else a model if there is one.
            store: keep the facts as memories.
            ref: where the conversation stands, such as a file or its id; kept with each fact.
            tags: words to group the facts by.
            metadata: fields of your own for each fact.
            discard: only throw away this batch of messages, one of `batches` that wait.
        """
        rules = ExtractionRules(
            roles=_roles(roles),
            min_importance=check_share(min_importance, "min_importance"),
            ref=None if ref is None else check_text(ref, "ref"),
            tags=tuple(check_text(tag, "a tag") for tag in tags),
            metadata={} if metadata is None else check_metadata(metadata),
        )
        if discard is not None:
            return flows.extraction.discard(self._extraction_site(rules, scope), discard)
        return self._extract(messages, rules, scope, use_model=use_model, store=store)

    def _extract(
        self,
        messages: str | Sequence[GivenTurn],
        rules: ExtractionRules,
        scope: Scope | None,
        *,
        use_model: bool | None = None,
        store: bool = True,
    ) -> Extraction:
        turns, site = _turns(messages), self._extraction_site(rules, scope)
        llm = None if use_model is False else self._metered_llm("extract")
        if use_model and llm is None:
            raise InvalidInput("there is no language model: set llm_provider, or use_model=False")
        if llm is None:
            return flows.extraction.by_rules(site, turns, store=store)
        longest = self._config.llm_max_tokens
        return flows.extraction.by_model(site, turns, llm, store=store, max_tokens=longest)

    def _wait_for_model(self, turn: Turn, name: str, key: str | None, scope: Scope) -> int:
        """Keeps a turn of a session until a model is asked; says how many turns wait."""
        if self._opened().llm() is None:
            return 0
        rules = ExtractionRules(ref=f"session {name}")
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        return flows.extraction.queue(self._extraction_site(rules, scope), turn, digest, key)

    def _extraction_site(self, rules: ExtractionRules, scope: Scope | None) -> "ExtractionSite":
        return flows.extraction.ExtractionSite(
            access=self._access(), lens=self._lens(scope), scope=self._own_scope(scope),
            channel=self._channel, now=self._now(), rules=rules,
        )  # fmt: skip


def _roles(roles: Sequence[str]) -> tuple[str, ...]:
    if isinstance(roles, str) or not roles or not set(roles) <= {"user", "assistant"}:
        raise InvalidInput(f"roles must be a list of user and assistant, not {roles!r}")
    return tuple(dict.fromkeys(roles))


def _turns(messages: str | Sequence[GivenTurn]) -> list[Turn]:
    given = [messages] if isinstance(messages, str) else messages
    if isinstance(given, Mapping) or not isinstance(given, Sequence):
        raise InvalidInput("messages must be a text or a list of messages")
    return [_turn(number, message) for number, message in enumerate(given)]


def _turn(number: int, message: GivenTurn) -> Turn:
    if isinstance(message, Turn):
        return message
    said: Mapping[str, object] = {"content": message} if isinstance(message, str) else message
    wrong = f"messages[{number}] must be a mapping with role and content, or a text"
    if not isinstance(said, Mapping):
        raise InvalidInput(wrong)
    if "content" not in said:
        raise InvalidInput(wrong)
    name = said.get("name")
    return Turn(
        role=check_text(said.get("role", "user"), f"the role of messages[{number}]").casefold(),
        text=without_private(_content(number, said.get("content"))),
        speaker=None if name is None else check_text(name, f"the name of messages[{number}]"),
    )


def _content(number: int, content: object) -> str:
    """A message's text; of a list of parts, as model services have it, the texts alone."""
    if isinstance(content, list):
        parts = [
            part for part in content if isinstance(part, Mapping) and part.get("type") == "text"
        ]
        content = "\n".join(str(part.get("text") or "") for part in parts)
    return check_text("" if content is None else content, f"the content of messages[{number}]")
