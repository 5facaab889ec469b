"""Why did you say that? What entered a prompt, what carries a sentence, and the pack of today."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.care.access_keys import WRITE
from memory_mesh.dashboard.asked import EVERY_STATUS, EVERYONE, Asked, GoTo, PageRoute, Shown, Undo
from memory_mesh.dashboard.words import lost_question
from memory_mesh.dashboard.words_changed import Stretch, changes, rewriter
from memory_mesh.model import InvalidInput, Memory, NotFound
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.model.why import BlockSummary

PATH = "/why"
_LATEST = 50  # prompts that a sentence is looked for in
_SHOWN = 12
_MOST_IDS = 250
_MOST_SAID = 2_000  # characters of a sentence
_WORD = re.compile(r"\w+")
_MOST_WORDS = 0.25 + 0.75 * 0.6  # three of five, as `_share` counts them
_CARRIES = 0.9  # of the best score: what else may carry it


@dataclass(frozen=True, slots=True)
class EnteredPart:
    """A memory of a prompt: its words then and now, and how likely it carries the sentence."""

    injected: Injected
    then: Memory | None
    now: Memory | None
    score: float = 0.0
    carries: bool = False
    sure: bool = False  # that it carries it: most of its words are in the sentence
    reworded: BlockSummary | None = None  # who gave it the words of then, where somebody did

    @property
    def memory(self) -> Memory | None:
        """The memory as it is, else as it was."""
        return self.now or self.then

    @property
    def changed(self) -> list[Stretch]:
        """What became of its words since; empty where they are the same."""
        if self.then is None or self.now is None or self.then.text == self.now.text:
            return []
        return changes(self.then.text, self.now.text)


@dataclass(frozen=True, slots=True)
class Anew:
    """What became of a memory where the same prompt is packed anew."""

    memory: Memory | None
    how: str  # same, changed, gone, new
    tokens: int = 0


def show(asked: Asked) -> Shown:
    """The prompts that a sentence may have come from, and the chosen one in full."""
    said, wanted = asked.one("said")[:_MOST_SAID], asked.one("prompt")
    prompts = asked.mesh.care.prompts(limit=_LATEST, across=EVERYONE)
    scores = _scores(asked, said, prompts)
    if said and scores:
        best = {each.id: _best(each, scores) for each in prompts}
        prompts = sorted((each for each in prompts if best[each.id]), key=lambda p: -best[p.id])
        wanted = wanted or (prompts[0].id if prompts else "")
    values: dict[str, object] = {
        "said": said,
        "prompts": prompts[:_SHOWN],
        "scores": {each.id: _best(each, scores) for each in prompts[:_SHOWN]},
        "prompt": None,
        "nothing": bool(said and not scores and not wanted),
    }
    if wanted:
        values |= _whole(asked, said, wanted)
    return Shown("why.html", values)


def _best(prompt: Injection, scores: Mapping[str, float]) -> float:
    return max((scores.get(each.memory, 0.0) for each in prompt.memories), default=0.0)


def _scores(asked: Asked, said: str, prompts: Sequence[Injection]) -> dict[str, float]:
    """How likely each memory of the prompts carries the sentence, as the search itself sees it."""
    ids = list(dict.fromkeys(each.memory for prompt in prompts for each in prompt.memories))
    return _searched(asked, said, ids[:_MOST_IDS])


def _searched(asked: Asked, said: str, ids: list[str], **at: object) -> dict[str, float]:
    if not said or not ids:
        return {}
    hits = asked.mesh.search(
        said, limit=len(ids), filter={"id": {"$in": ids}}, across=EVERYONE, include=EVERY_STATUS,
        record=False, **at,  # type: ignore[arg-type]  # as_of
    )  # fmt: skip
    words = set(_WORD.findall(said.casefold()))
    shares = {hit.id: _share(words, hit.content) for hit in hits}
    most = max(shares.values(), default=1.0)
    return {hit.id: hit.score * shares[hit.id] / most for hit in hits}


def _share(words: set[str], content: str) -> float:
    """More, the more of a memory's words a sentence has: of two that differ in one, that one."""
    own = set(_WORD.findall(content.casefold()))
    return 0.25 + 0.75 * len(own & words) / max(1, len(own))


def _whole(asked: Asked, said: str, wanted: str) -> dict[str, object]:
    """One prompt: its memories in their order, and the same prompt packed anew."""
    why = asked.mesh.explain(wanted, see_across=EVERYONE)
    if not why.injections:
        raise NotFound(f"{wanted} is not the record of a prompt")
    (prompt,) = why.injections
    ids = [each.memory for each in prompt.memories]
    scores = _searched(asked, said, ids, as_of=prompt.at) if said else {}
    then = {each.id: each for each in _listed(asked, ids, as_of=prompt.at)}
    now = {each.memory.id: each.memory for each in why.entered}
    most = max(scores.values(), default=0.0)
    parts = [
        EnteredPart(
            each, then.get(each.memory), now.get(each.memory), scores.get(each.memory, 0.0),
            bool(most) and scores.get(each.memory, 0.0) >= most * _CARRIES,
        )
        for each in prompt.memories
    ]  # fmt: skip
    words = set(_WORD.findall(said.casefold()))
    parts = [
        replace(
            part,
            sure=part.then is not None and _share(words, part.then.text) > _MOST_WORDS,
            reworded=_reworded(asked, part, prompt.at),
        )
        for part in parts
    ]
    if said:
        parts.sort(key=lambda part: -part.score)
    return {
        "prompt": prompt,
        "parts_of_prompt": parts,
        "edited": asked.one("edit"),
        "lost": lost_question(prompt),
        **({} if lost_question(prompt) else _anew(asked, prompt, then)),
    }


def _reworded(asked: Asked, part: EnteredPart, at: datetime) -> BlockSummary | None:
    """Who worded what carries a sentence, and when; who said it first may be somebody else."""
    memory = part.memory
    if memory is None or not part.carries:
        return None
    why = asked.mesh.explain(memory.id, scope=memory.scope, see_across=EVERYONE)
    return rewriter(why, at)


def _listed(asked: Asked, ids: list[str], **at: object) -> list[Memory]:
    if not ids:
        return []
    return asked.mesh.get_all(
        filter={"id": {"$in": ids[:_MOST_IDS]}}, across=EVERYONE, include=EVERY_STATUS,
        limit=_MOST_IDS, **at,  # type: ignore[arg-type]  # as_of
    )  # fmt: skip


def _anew(asked: Asked, prompt: Injection, then: Mapping[str, Memory]) -> dict[str, object]:
    """The pack that the same question gets today, for the same reader and budget."""
    pack = asked.mesh.context(
        prompt.question or None, max_tokens=prompt.max_tokens, format=prompt.format,
        scope=prompt.reader, record=False,
    )  # fmt: skip
    found = {item.id: item for item in pack}
    gone = [
        Anew(then.get(each.memory), "gone") for each in prompt.memories if each.memory not in found
    ]
    stays = [
        Anew(
            item.memory,
            "new" if item.id not in then
            else "same" if then[item.id].text == item.memory.text else "changed",
            item.tokens,
        )
        for item in pack
    ]  # fmt: skip
    return {"pack": pack, "anew": [*stays, *gone]}


def correct(asked: Asked) -> GoTo:
    """A new version of the memory that misled, in the words of the reader."""
    memory, text = asked.memory(asked.one("id")), asked.one("text")
    if not text:
        raise InvalidInput("say what is right; to take the memory away, delete or forget it")
    reason = asked.one("reason") or "corrected on the page"
    asked.mesh.update(memory.id, text, reader=memory.scope, reason=reason)
    undo = Undo("/memories/edit", {"id": [memory.id], "text": [memory.text]})
    back = asked.here(PATH, said=asked.one("said"), prompt=asked.one("prompt"))
    return GoTo(back, "Corrected: the next prompt gets the new words.", undo)


ROUTES = (
    PageRoute(PATH, show, title="Why did you say that?", icon="answer"),
    PageRoute(f"{PATH}/correct", correct, WRITE, "POST"),
)
