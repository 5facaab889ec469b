"""Which write turned a right answer wrong: one question, answered from the store of past moments.

::

    complaint ── the prompt on record that it fits ──▶ its question, reader, budget, time
      ▼
    pack after n writes          the clock stands still at the prompt, only the writes differ
      ▼
    writes to memories in which the packs of two moments differ ──▶ the middle one ──▶ judge
      ▼                                             the same text is never judged twice
    right after n writes, wrong after n + 1 ──▶ has the memory left the pack and come back since?
      ▼
    Bisection(culprit: the write, what was made of it, what gave way to it)

A moment is the number of a commit. Nothing is recorded, and nothing is changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass, field, replace
from memory_mesh.context import fence
from memory_mesh.context.pack import PackRequest, pack
from memory_mesh.model import Block, Lens, Memory, NotFound, Resolution, Status
from memory_mesh.model.pack import Injection, Pack
from memory_mesh.model.ports import LLM
from memory_mesh.model.why import Bisection, Culprit
from memory_mesh.rules.trust import seen_through
from memory_mesh.search.recall import Reranking
from memory_mesh.text import analyzer
from memory_mesh.write.access import Access
from memory_mesh.write.take_back import WORDED, made_of, what_of

MOST_ASKED = 12  # packs that a judge is shown
MOST_PROMPTS = 200  # of the latest that a complaint is compared with
CUT = 200  # characters of a question that the record of a prompt keeps
_MOST_ANSWER = 20  # tokens of a model's word
_ASKED = 3  # times that a word of the question counts
_BLOCKS = 100  # of a memory, the newest
_TICK = timedelta(microseconds=999)  # a block is dated in milliseconds, a version in microseconds
NEVER_RIGHT = "no earlier pack of this question was right"
HIDDEN = "the write is about what this reader does not see"
NOT_WRONG = "the pack is right as it was told; the memories did not make it wrong"
NO_ANSWER = "there was no answer for some packs, so that the write is not known exactly"
TOO_MANY = f"{MOST_ASKED} packs were judged, and more than one write is left"

Judge: TypeAlias = Callable[[Pack], bool | None]  # right, wrong, or no answer


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """A question with its lens and rules, the record of its prompt, and who judges."""

    request: PackRequest
    judge: Judge
    prompt: Injection | None = None
    right_at: datetime | None = None  # a moment when the answer was right
    wrong_at: datetime | None = None  # and one when it was wrong


def prompt_meant(
    access: Access, sight: Lens, complaint: str, *, session: str | None = None
) -> Injection | None:
    """The latest prompt on record that shares most with a complaint; None if none shares a word.

    A word that fewer of the prompts have says more, and one of its question more than one of what
    it was told.
    """
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.latest_injections(sight, MOST_PROMPTS, None)
        found = [one for one in found if session is None or one.reader.session == session]
        ids = {each.memory for one in found for each in one.memories}
        texts = {memory.id: memory.text for memory in snapshot.get(list(ids), sight)}
    wanted = {*analyzer.query_terms(complaint)}
    said = [wanted.intersection(analyzer.terms(one.question)) for one in found]
    told = [
        wanted.intersection(analyzer.terms(" ".join(texts.get(m.memory, "") for m in one.memories)))
        for one in found
    ]
    often = Counter(term for pair in zip(said, told, strict=True) for term in pair[0] | pair[1])
    points = [
        sum((_ASKED if term in asked else 1) / (1 + often[term]) for term in asked | known)
        for asked, known in zip(said, told, strict=True)
    ]
    best = max(points, default=0.0)
    return found[points.index(best)] if best else None


def prompt_named(access: Access, sight: Lens, id_: str) -> Injection:
    """The record of a prompt of this reader by its id or its fence word; else NotFound."""
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        named = snapshot.injection(id_)
        found = [named] if named else snapshot.injections_fenced(id_.removeprefix("memories-"))
    known = next((one for one in found if seen_through(sight, one.reader)), None)
    if known is None:
        raise NotFound.of(id_)
    return known


def given_before(access: Access, prompt: Injection) -> frozenset[str]:
    """What the session of a prompt had been given by then, and was not given again."""
    if prompt.reader.session is None:
        return frozenset()
    own = Lens(now=prompt.at, scope=prompt.reader)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.latest_injections(own, MOST_PROMPTS, prompt.id)
    of_session = (one for one in found if one.reader.session == prompt.reader.session)
    given = frozenset(each.memory for one in of_session for each in one.memories)
    return given.difference(each.memory for each in prompt.memories)  # given again after a reset


def by_model(llm: LLM, complaint: str, question: str) -> Judge:
    """A judge that asks a language model; an answer that is none of ours is no answer."""
    template = (Path(__file__).parents[1] / "prompts" / "bisect.md").read_text(encoding="utf-8")
    said = {"complaint": fence.harmless(complaint), "question": fence.harmless(question)}

    def judged(made: Pack) -> bool | None:
        shown = fence.filled(template, {**said, "memories": made.text or "(nothing)"})
        answer = llm.complete(shown, max_tokens=_MOST_ANSWER).strip().strip(".'\"").casefold()
        return {"right": True, "wrong": False}.get(answer)

    return judged


def bisect(access: Access, asked: BisectRequest, reranking: Reranking | None = None) -> Bisection:
    """Finds the write that turned the answer to a question from right to wrong."""
    return _Search(access, _as_told(access, asked, reranking), reranking).found()


def _as_told(access: Access, asked: BisectRequest, reranking: Reranking | None) -> BisectRequest:
    """The request with the number of memories of the prompt, if that gives the text on record.

    The record of a prompt keeps its budget of tokens and not the most memories that were wanted.
    """
    if asked.prompt is None:
        return asked
    request, many = asked.request, len(asked.prompt.memories)
    limited = replace(request, rules=replace(request.rules, max_memories=max(1, many)))
    last = replace(asked, request=limited)
    made = [
        _Search(access, each, reranking).at(_Search(access, each, reranking).last)
        for each in (asked, last)
    ]
    is_limited = len(made[0]) > many or made[1].fence == asked.prompt.fence
    return last if is_limited and made[0].fence != asked.prompt.fence else asked


@dataclass(frozen=True, slots=True)
class _Search:
    """One bisection: the packs that were made, and what was said of each."""

    access: Access
    asked: BisectRequest
    reranking: Reranking | None
    packs: dict[tuple[int, frozenset[str]], Pack] = field(default_factory=dict)
    said: dict[str, bool | None] = field(default_factory=dict)  # by the text

    @property
    def last(self) -> int:
        """The last commit before the prompt."""
        return self._before(self.asked.wrong_at or self.asked.request.lens.now)

    def found(self) -> Bisection:
        """The bisection."""
        first = 0 if self.asked.right_at is None else self._before(self.asked.right_at)
        last = self.last
        told, prompt, newest = self.at(last), self.asked.prompt, self._block(last)
        ended = Bisection(
            question=self.asked.request.question or "",
            told=told, right=told, prompt=prompt,
            writes=newest.position or 0 if newest else 0,
            exact=prompt is None or told.fence == prompt.fence,
        )  # fmt: skip
        if self._right(told) is not False:
            reason = NOT_WRONG if self._right(told) else NO_ANSWER
            return replace(ended, reason=reason, asked=len(self.said))
        low, high = self._narrowed(first, last)
        if self._right(self.at(low)) is False:
            right = next((at for at in self._back(last) if self._right(self.at(at))), None)
            if right is None:
                return replace(ended, reason=NEVER_RIGHT, asked=len(self.said))
            low, high = self._narrowed(right, last)
        return self._ended(ended, low, high, last)

    def _ended(self, ended: Bisection, low: int, high: int, last: int) -> Bisection:
        """The result for the last moment that was right and the first that was wrong."""
        blocks = self._blocks(low, high)
        if not blocks:
            return replace(ended, right=self.at(low), reason=HIDDEN, asked=len(self.said))
        if self._apart(blocks):
            reason = NO_ANSWER if None in self.said.values() else TOO_MANY
            between = self._memories(dict.fromkeys(id_ for b in blocks for id_ in b.entry.memories))
            return replace(ended, right=self.at(low), reason=reason, between=between,
                           asked=len(self.said))  # fmt: skip
        block = self._chosen(blocks, low, high)
        again = self._again(block.entry.memories[0], high, last)
        if again is not None:
            low, high = again
            block = self._chosen(self._blocks(low, high), low, high)
        return replace(
            ended, right=self.at(low), culprit=self._culprit(block), asked=len(self.said),
            turned_before=again is not None,
        )  # fmt: skip

    def at(self, seq: int, without: frozenset[str] = frozenset()) -> Pack:
        """The pack after a commit, without some memories."""
        if (seq, without) not in self.packs:
            self.packs[seq, without] = self._made(seq, without)
        return self.packs[seq, without]

    def _made(self, seq: int, without: frozenset[str]) -> Pack:
        request = self.asked.request
        then = self._time(seq)
        if then is None:
            return Pack("", 0, request.rules.max_tokens)
        now = request.lens.now
        lens = replace(request.lens, as_of=then, valid_at=request.lens.valid_at or now)
        rules = replace(request.rules, exclude=request.rules.exclude | without)
        made = pack(
            self.access, PackRequest(request.question, lens, rules), record=False,
            reranking=self.reranking,
        )  # fmt: skip
        prompt = self.asked.prompt
        return made if prompt is None else replace(made, injection_id=prompt.id)

    def _right(self, made: Pack) -> bool | None:
        """What the judge says of a pack; None without an answer, and when it was asked enough."""
        if made.text not in self.said:
            if len(self.said) >= MOST_ASKED:
                return None
            self.said[made.text] = self.asked.judge(made)
        return self.said[made.text]

    def _narrowed(self, low: int, high: int) -> tuple[int, int]:
        """The last right moment and the first wrong one after it; the first counts as right."""
        skipped = set[int]()
        while high - low > 1:
            points = [at for at in self._points(low, high) if at not in skipped]
            if not points:
                break
            middle = points[len(points) // 2]
            made = self.at(middle)
            right = made.text == self.at(low).text or self._right(made)
            if right is None:
                skipped.add(middle)
            elif right:
                low = middle
            else:
                high = middle
        return low, high

    def _points(self, low: int, high: int) -> list[int]:
        """The moments around the writes to memories in which two packs differ, else the middle."""
        one, other = _items(self.at(low)), _items(self.at(high))
        ids = {id_ for id_, _ in one ^ other}
        written = {seq for id_ in ids for seq in self._written(id_) if low < seq <= high}
        points = sorted({at for seq in written for at in (seq - 1, seq) if low < at < high})
        return points or [(low + high) // 2]

    def _back(self, last: int) -> list[int]:
        """Moments before writes to what the pack holds, the latest first, in growing steps."""
        written = {seq for item in self.at(last) for seq in self._written(item.id) if seq <= last}
        before = sorted({seq - 1 for seq in written}, reverse=True)
        return [before[at] for at in (0, 1, 3, 7, 15, 31) if at < len(before)]

    def _apart(self, blocks: Sequence[Block]) -> bool:
        """Whether commits were left between two moments; those of one millisecond are one."""
        return len({block.entry.at for block in blocks}) > 1

    def _again(self, id_: str, high: int, last: int) -> tuple[int, int] | None:
        """The moments around the last time that a memory came into the pack, if it was right then.

        It may have left the pack and come back: that is the write to take back.
        """
        for seq in sorted((at for at in self._written(id_) if high < at <= last), reverse=True):
            before, after = _items(self.at(seq - 1)), _items(self.at(seq))
            came = {text for named, text in after - before if named == id_}
            if came and self._right(self.at(seq - 1)) and self._right(self.at(seq)) is False:
                return seq - 1, seq
        return None

    def _chosen(self, blocks: Sequence[Block], low: int, high: int) -> Block:
        """The block of a commit that is about what changed the pack; of several, by the judge."""
        before, after = _items(self.at(low)), _items(self.at(high))
        changed = {id_ for id_, _ in before ^ after} or {id_ for id_, _ in after}
        about = {block.entry.memories[0]: block for block in blocks}
        come = [id_ for id_ in about if id_ in changed and id_ in {one for one, _ in after}]
        while len(come) > 1:
            half = come[: len(come) // 2]
            wrong = self._right(self.at(high, frozenset(half))) is False
            come = come[len(come) // 2 :] if wrong else half
        gone = [id_ for id_ in about if id_ in changed]
        return about[(come or gone or [*about])[0]]

    def _culprit(self, block: Block) -> Culprit:
        """The write that a block records, with what it left and what was made of that."""
        id_, at = block.entry.memories[0], block.entry.at
        with self.access.ledger.read(self.access.namespace) as snapshot:
            versions = [
                each for each in snapshot.history(id_) if seen_through(self._sight, each.scope)
            ]
            then = [each for each in versions if each.recorded_from <= at + _TICK]
            made = made_of(snapshot, id_, at) if what_of(block) in WORDED else []
            gave_way = [
                each.existing
                for each in snapshot.conflicts(_BLOCKS, pending=False, memory=id_)
                if each.resolution is Resolution.SUPERSEDE and each.created <= at + _TICK
            ]
            derived = snapshot.get(made, self._sight)
            seen = snapshot.get(gave_way, self._sight)
            replaced = [each for each in seen if each.successor == id_]
            parents = snapshot.links([id_], None, ["derived_from"])
        is_new = not [each for each in versions if each.recorded_from < at]
        drawn = any(link.source == id_ for link in parents)
        return Culprit(
            block=block.entry.id,
            what=what_of(block, is_derived=drawn),
            at=at,
            memory=(then or versions)[-1],
            before=None if is_new or len(then) < 2 else then[-2],  # noqa: PLR2004
            derived=tuple(each for each in derived if each.status is not Status.DELETED),
            replaced=tuple(replaced),
        )

    def _memories(self, ids: Iterable[str]) -> tuple[Memory, ...]:
        with self.access.ledger.read(self.access.namespace) as snapshot:
            return tuple(snapshot.get(list(ids), self._sight))

    @property
    def _sight(self) -> Lens:
        """What the reader of the prompt may be told of, whatever became of it."""
        every = frozenset(Status)
        return replace(self.asked.request.lens, as_of=None, statuses=every, any_validity=True)

    def _written(self, id_: str) -> list[int]:
        """The commits that wrote a memory, or its votes."""
        with self.access.ledger.read(self.access.namespace) as snapshot:
            return [block.seq or 0 for block in snapshot.blocks_about(id_, _BLOCKS)]

    def _time(self, seq: int) -> datetime | None:
        """When the last write up to a commit was recorded; None before the first."""
        block = self._block(seq)
        return None if block is None else block.entry.at + _TICK

    def _block(self, seq: int) -> Block | None:
        """The last block up to a commit, which may have none: one of vectors alone has none."""
        looked = 0
        while looked < seq:
            looked = min(2 * looked + 1, seq)
            blocks = self.access.ledger.blocks(self.access.namespace, seq - looked, looked)
            found = [block for block in blocks if block.seq is not None and block.seq <= seq]
            if found:
                return found[-1]
        return None

    def _before(self, at: datetime) -> int:
        """The last commit at or before a time."""
        ledger, namespace = self.access.ledger, self.access.namespace
        later = ledger.blocks(namespace, 0, 1, since=at + timedelta(milliseconds=1))
        if later:
            return (later[0].seq or 1) - 1
        with ledger.read(namespace) as snapshot:
            return snapshot.head().seq

    def _blocks(self, low: int, high: int) -> list[Block]:
        """The blocks about what the reader sees, after one commit and up to another one."""
        with self.access.ledger.read(self.access.namespace) as snapshot:
            found = snapshot.blocks_for(self._sight, low, _BLOCKS)
        return [
            block
            for block in found
            if block.seq is not None and block.seq <= high and block.entry.memories
        ]


def _items(made: Pack) -> frozenset[tuple[str, str]]:
    """What a pack holds: memories, each with its text."""
    return frozenset((item.id, item.memory.text) for item in made)
