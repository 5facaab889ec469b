"""The outside things, as small Protocols: what a flow may ask of an engine."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from memory_mesh.base.typed import TYPE_CHECKING, Protocol
from memory_mesh.model import (
    Block,
    Body,
    Candidate,
    Checkpoint,
    Commit,
    Conflict,
    Cursor,
    Embedding,
    Entry,
    Head,
    Indexed,
    Json,
    Lens,
    Link,
    Memory,
    Near,
    Page,
    Part,
    Pending,
    Placed,
    PredicateSchema,
    Proposal,
    Question,
    Scope,
    SkillQuery,
    SourceKind,
    Space,
    Standing,
    Stats,
    Status,
    Verification,
    Wanted,
)
from memory_mesh.model.commit import MAX_LINKS
from memory_mesh.model.query import Expression, Postings, Reach, SearchLook, Similar, Vectored

if TYPE_CHECKING:
    from memory_mesh.model.block import Observed
    from memory_mesh.model.pack import Injection
    from memory_mesh.model.trigger import MemoryMetadata, Triggered

# What a search by meaning and an index ask of a ledger; `ports` is composed of them too.


class VectorSearch(Protocol):
    """Find versions by meaning in one read transaction; `search/nearest.py` says which way."""

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; None where it holds no vector.

        Memories are counted without reading them. Where that is not cheap, they are not.
        """

    def nearest_seen(
        self, question: Question, lens: Lens, reach: Reach, most: int | None
    ) -> list[Near] | None:
        """The best among all vectors that the lens sees, exactly; None if they are over `most`."""

    def nearest_above(self, question: Question, lens: Lens, floor: int, count: int) -> SearchLook:
        """Those that the lens sees of the best `count` vectors above a number, exactly."""

    def seen(self, found: Sequence[tuple[int, float]], lens: Lens) -> tuple[Near, ...]:
        """Those that the lens sees of vectors that an index found, by number and cosine."""

    def cosines(self, question: Question, versions: Sequence[int]) -> list[Near]:
        """How near versions found otherwise are: of each its best part."""


class VectorFeed(Protocol):
    """Give an index the vectors of a space, and record which index counts."""

    def vectors(
        self, namespace: str, space: Space, after: int
    ) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        """A space's vectors above a number, in order, block by block: number, vector, audience.

        A number keeps its audience: when that of a text changes, its vectors get new numbers.
        """

    def absorbed(self, namespace: str, space: Space, base: Body | None, body: Body | None) -> None:
        """Name the body that counts from now on, unless another took the place of `base`."""

    def index_some(self, namespace: str, space: Space) -> Body | None:
        """Take the next vectors into an index inside the ledger, for a moment: the index then.

        None where the ledger keeps none. Once every vector is in it, the answer stays the same.
        """


# What a keyword search asks of a ledger: counts, postings, scores, visibility, stored words.
#
# The decisions (which words, what they may mean, how deep) are made in search/keyword_plan.py. No
# syntax of an engine is in an expression: each ledger compiles it to its own.


class Keywords(Protocol):
    """The words of all texts that may be for one lens, within one read transaction.

    Only `seen` and `versions` look at what the lens sees: the others count and score every text of
    the same tables, whoever it is for, so nothing of them may be told before `versions` has.
    """

    def texts(self) -> int:
        """How many texts there are: what the weight of a word is computed from."""

    def postings(
        self, expressions: Sequence[Expression], *, exact: int, listed: int
    ) -> list[Postings]:
        """How many texts hold each expression: exact up to a count, an estimate above it.

        At most `listed` of them are named, and none where there are more.
        """

    def seen(self, expressions: Sequence[Expression]) -> list[bool]:
        """Whether a text that the lens sees holds each expression; a bounded look."""

    def best(
        self,
        expression: Expression,
        also: Sequence[tuple[Expression, float]] = (),
        *,
        deepest: int,
        limit: int,
    ) -> list[tuple[int, float]]:
        """The best texts by BM25 with what each of `also` adds where it holds too, best first.

        Only the newest `deepest` texts that hold the expression are scored; ties: the newest.
        """

    def holding(self, expression: Expression) -> Iterator[int]:
        """The texts that hold an expression, newest first, those out of use last; read as taken."""

    def versions(self, texts: Sequence[int]) -> list[tuple[int, int]]:
        """Those of the texts that the lens sees, each with its version."""

    def beginning(self, letters: str) -> list[str]:
        """The first stored words that begin so, in the order of the alphabet; a bounded look."""

    def stored(self, words: Sequence[str]) -> list[str]:
        """Those of the words that some text holds."""

    def none_held(self) -> None:
        """No text holds a word of a question: a ledger may check that its tables are whole."""


class Clock(Protocol):
    """The time of day, `now()` in UTC, and seconds to measure with, `monotonic()`: both needed."""

    def now(self) -> datetime:
        """The present, aware and in UTC."""

    def monotonic(self) -> float:
        """Seconds since some moment; they never go back."""


class Forkable(Protocol):
    """Something with locks, connections or threads that a forked child must not use."""

    def after_fork(self) -> None:
        """Forget them in the child, without closing anything the parent still uses."""


class Releasable(Forkable, Protocol):
    """Something that can let go of its connections for a moment."""

    def before_fork(self) -> None:
        """Close every connection that nobody uses; they are opened again when needed."""


class Search(Protocol):
    """Find versions in one read transaction: by keyword, by meaning, by their place."""

    def expect(self, *calls: Callable[[], object]) -> None:
        """Asks ahead for what calls that only read will ask for, where asking takes time."""

    def keywords(self, lens: Lens) -> Keywords:
        """The words of the texts that a lens may ask for."""

    def similar(self, sought: "Similar") -> list[list[tuple[str, float]]]:
        """Of each text the ids of memories that are near enough, with their cosines, nearest first.

        A text's reader sees all of them; what it does not see takes no place.
        """

    def around(
        self, versions: Sequence[int], lens: Lens, question: Question | None
    ) -> dict[int, Placed]:
        """The versions and their neighbours that the lens sees, each in its place.

        A neighbour tells of what stands beside it only as far as that is among them, too.
        """

    def speakers(self, words: Sequence[str], lens: Lens) -> frozenset[str]:
        """Those of the words that name somebody whose words the lens sees."""

    def parts(self, space: Space, versions: Sequence[int]) -> dict[int, list[Part]]:
        """The vectors that versions have in a space, in the order of their parts."""

    def vectors(self, space: Space, ids: Sequence[str]) -> dict[str, list[Part]]:
        """The vectors that memories have in a space now."""


class Lookup(Protocol):
    """Read memories and skills in one read transaction: by id, by number, in pages."""

    def get(self, ids: Sequence[str], lens: Lens) -> list[Memory]:
        """The memories with these ids that the lens sees, in the order asked."""

    def numbers(self, ids: Sequence[str], lens: Lens) -> dict[str, int]:
        """The numbers of the versions of these memories that the lens sees, by id."""

    def load(self, versions: Sequence[int], lens: Lens | None = None) -> dict[int, Memory]:
        """Versions by their number, as a search found them; a lens tells which are expired."""

    def page(
        self,
        lens: Lens,
        limit: int,
        cursor: str | None,
        *,
        worst_first: bool = False,
        pinned: bool = False,
        standing: SourceKind | None = None,
    ) -> Page:
        """Newest first, `limit` at a time; or the lessons among them, worst first.

        With `pinned`, only those: they are found without looking at the others. With `standing`,
        only what a profile is made of, from sources of this kind; it is found so, too.
        """

    def history(self, memory_id: str) -> list[Memory]:
        """Every version of one memory, oldest first, whoever may see it."""

    def next_bound(self, lens: Lens) -> datetime | None:
        """The next moment at which some memory starts or ceases to be valid, or may expire."""

    def ended(self, before: datetime, most: int) -> list[str]:
        """Memories that expired before a moment, deleted or not."""

    def skills(self, query: SkillQuery) -> list[Candidate]:
        """The skills that a query means and its reader sees."""

    def counts(self, lens: Lens, by: str, sample: int | None = None) -> dict[str | None, int]:
        """How many memories the lens sees of each value of a field; those without it under None.

        Of more memories than `sample` so many from all over are counted, each for its share.
        """


class Claims(Protocol):
    """Read what bears on a claim in one read transaction: rivals, conflicts, predicates."""

    def standing(self, wanted: Wanted) -> Standing:
        """What bears on a write as it is now, for work worth doing before the transaction."""

    def conflicts(
        self,
        limit: int,
        *,
        pending: bool,
        decided: bool = True,
        memory: str | None = None,
        existing: str | None = None,
    ) -> list[Conflict]:
        """Conflicts on record, the newest first: those that wait, or all.

        Without `decided` those that a person decided are left out. `memory` asks for those that a
        memory came with, `existing` for those that came upon it.
        """

    def guesses(self, ids: Sequence[str], limit: int) -> list[Conflict]:
        """Guesses that order these memories, the newest first."""

    def schemas(self) -> dict[str, PredicateSchema]:
        """Every registered predicate."""


class Indexing(Protocol):
    """Read what upkeep works on in one read transaction: missing vectors, keyword terms."""

    def pending(self, space: Space, limit: int, max_chars: int | None = None) -> Pending:
        """How many texts wait for a vector in a space, and the first `limit` of them.

        With `max_chars`, instead the newest of them that are not longer, among recent texts.
        """

    def unlinked(self, limit: int) -> int:
        """How many vectors no links were sought for yet, up to a limit."""

    def vectored(self, space: Space, after: int, limit: int) -> "tuple[int, list[Vectored]]":
        """The memories of the next vectors above a number, and how far these reach."""

    def indexed(self, of: str, up_to: int | None, limit: int) -> list[Indexed]:
        """Texts or skills (`of`) up to a number, newest first, with the terms they have.

        At most `limit`, and fewer where they are long: one slice is short work for a writer.
        """


class Relations(Protocol):
    """Read what stands beside memories in one read transaction: links, proposals, small values."""

    def links(
        self,
        ids: Sequence[str],
        lens: Lens | None = None,
        types: Sequence[str] = (),
        limit: int = MAX_LINKS,
        *,
        within: bool = False,
    ) -> list[Link]:
        """The links from and to these memories, oldest first, cut after `limit`.

        With a lens only those count whose two memories it sees; with types only those of them.
        `within`: only the links between two of these memories.
        """

    def neighbours(
        self,
        ids: Sequence[str],
        lens: Lens,
        *,
        most: int,
        types: Sequence[str] = (),
        besides: Sequence[str] = (),
    ) -> list[Link]:
        """Of each memory its best `most` links to memories that are not among these nor `besides`.

        The lens sees both ends. The most similar come first, and before them the links that are
        not of type similar. Memories are in the order asked.
        """

    def edges(
        self, lens: Lens, *, types: Sequence[str] = (), least: float = 0.0, limit: int
    ) -> list[Link]:
        """The links that a lens sees, those of the newest memories first, cut after `limit`.

        A link of type similar needs a similarity of at least `least`.
        """

    def proposals(self, limit: int, *, pending: bool, memory: str | None = None) -> list[Proposal]:
        """Proposals, the newest first: those that wait, or all; of one memory, or of any."""

    def states(self, prefix: str) -> dict[str, str]:
        """The small values whose names begin with a prefix, sorted by name."""


class Trail(Protocol):
    """Read how memories came to be as they are."""

    def block(self, block_id: str) -> Block | None:
        """A block of the chain, or the record of a recall, by its id."""

    def blocks_for(self, lens: Lens, after_seq: int, limit: int) -> list[Block]:
        """Blocks of the next commits about what the lens sees, now and when they were written.

        Those about no memory (a skill, a predicate, a refusal) are among them. A commit's blocks
        are never split.
        """

    def recalls_by(self, reader: Scope, limit: int) -> list[Block]:
        """The latest records of searches by a reader, or by one that sees less, newest first."""

    def blocks_about(self, memory_id: str, limit: int) -> list[Block]:
        """The newest chained blocks whose first memory it is, oldest first."""

    def reasons(self, memory_id: str) -> dict[datetime, tuple[str, ...]]:
        """The reasons of each version of a memory, by the time it was recorded."""

    def observations(self, memory_id: str, limit: int) -> "list[Observed]":
        """The latest writes that ended in a memory, oldest first."""

    def keyed(self, beginning: str) -> list[tuple[str, str, Status]]:
        """The memories with an idempotency key that begins so: key, id and status, oldest first.

        Their other keys are among them. A key is as `owned_key` makes it.
        """


class PromptRecords(Protocol):
    """Read what entered prompts, and which prompts a memory entered."""

    def injection(self, injection_id: str) -> "Injection | None":
        """What entered one prompt."""

    def injections_fenced(self, word: str) -> "list[Injection]":
        """What entered the prompts with this fence word, the newest first."""

    def latest_injections(self, lens: Lens, limit: int, before: str | None) -> "list[Injection]":
        """What entered the latest prompts that a lens belongs to, before one of them."""

    def injections(self, memory_id: str, limit: int) -> "list[Injection]":
        """The latest prompts that a memory entered, newest first, without the other memories."""


class Calling(Protocol):
    """Read the triggers of memories in one read transaction."""

    def triggered(self, lens: Lens, limit: int, also: Sequence[int] = ()) -> "list[Triggered]":
        """The newest memories with triggers that the lens sees, without their texts.

        Where there are more than `limit`, those of the versions `also` that have triggers follow.
        Of the present, the cost grows with the memories that have triggers, not with all of them.
        """

    def described(self, versions: Sequence[int]) -> "list[MemoryMetadata]":
        """What a selection looks at of these versions; an untitled one gives its beginning."""


class Snapshot(
    Search,
    VectorSearch,
    Lookup,
    Claims,
    Indexing,
    Relations,
    Trail,
    PromptRecords,
    Calling,
    Protocol,
):
    """One read transaction over one namespace: every answer is of the same moment."""

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""


class Writer(Protocol):
    """Write to a namespace: one write is one transaction."""

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read what stands, let `decide` decide, write all of it or nothing."""

    def note(
        self, namespace: str, entry: Entry | None, injection: "Injection | None" = None
    ) -> None:
        """Record a recall soon: with the next commit, when 64 wait, or at close. Waits for nobody.

        An injection counts one use of each of its memories, and its record is written with it.
        """

    def flush(self, namespace: str) -> None:
        """Write what waits to be recorded, unless another process writes now."""

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and record it, as soon as `note`. Waits for nobody."""


class Audit(Protocol):
    """Read and check the record of what was written and recalled."""

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""


class SinkCursors(Protocol):
    """Remember how far each sink has come."""

    def sink_cursors(self, namespace: str) -> dict[str, Cursor]:
        """How far each sink has come, by its name."""

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after the last give the commit up."""

    def dead_letters(self, namespace: str) -> list[tuple[str, int, str]]:
        """What sinks never took, oldest first: sink, commit, reason; without one it goes again."""

    def revive(self, namespace: str, seqs: Sequence[int] | None) -> int:
        """Mark dead letters to be sent again: those of some commits, or all; returns how many."""

    def forgotten(self, namespace: str, ids: Iterable[str]) -> set[str]:
        """Which of these memories are deleted today."""


class Maintenance(Protocol):
    """Count, list, prune and close whole namespaces."""

    def unswept(self, namespace: str, since: str | None) -> tuple[str | None, int]:
        """Since when deleted rows wait to be taken out of pages, and in how many tables."""

    def stats(self, namespace: str, session_days: int = 0, *, counted: bool = True) -> Stats:
        """The namespace in numbers; sessions expire after so many days, or never.

        Without `counted` what takes longer the more is stored is left out.
        """

    def prune_recalls(self, namespace: str, before: datetime, limit: int) -> int:
        """Delete the oldest recall blocks from before a moment, at most `limit`; how many."""

    def namespaces(self, after: str = "", limit: int | None = None) -> Iterator[str]:
        """The names of namespaces, sorted as people see them: those after one, at most so many."""

    def close(self) -> None:
        """Write what waits and release every file."""


class Ledger(Writer, Audit, SinkCursors, VectorFeed, Maintenance, Protocol):
    """The truth, which any number of processes may share: all its parts, and the snapshots."""

    def read(self, namespace: str) -> AbstractContextManager[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""


class Embedder(Protocol):
    """Text to vectors: little-endian float32, never NaN, of length 1 where the space says so."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """Vectors in the order of the texts, no window longer than the space's max tokens.

        A query has exactly one vector. Raises EmbeddingError when no vector can be had.
        """

    def close(self) -> None:
        """Release the model."""


class Reranker(Protocol):
    """Scores texts for a question by reading both together: a cross-encoder, a service."""

    def rank(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """One score for each text, in their order, higher is better; None for no score."""


class Index(Protocol):
    """Vectors by number and audience, absorbed from the ledger, per namespace and space.

    A number grows with time, is never used twice and always means the same vector for the same
    audience, itself a small number of the ledger's. The ledger names the `Body` that counts. One
    that is gone or unreadable loses nothing: scan the ledger.
    """

    def absorb(
        self,
        namespace: str,
        space: str,
        *,
        dimension: int,
        base: Body | None,
        rows: Callable[[int], Iterable[Sequence[tuple[int, bytes, int]]]],
    ) -> Body | None:
        """The body that holds `base` and all rows above it, each once, for the ledger to name.

        `rows(n)` gives (number, vector, audience) above number n in order; n is 0 where `base` is
        None or gone. The answer is `base` when nothing is new or another owner is at work, and
        None for no rows.
        """

    def forget(
        self, namespace: str, space: str, *, base: Body, numbers: Collection[int]
    ) -> Body | None:
        """The body without these numbers, for the ledger to name; None where nothing is left."""

    def near(
        self,
        namespace: str,
        space: str,
        *,
        body: Body,
        vector: bytes,
        limit: int,
        audiences: Collection[int] | None = None,
    ) -> list[tuple[int, float]] | None:
        """The nearest as (number, cosine), best first; None when this body cannot be read here.

        With audiences only their rows are looked at; with more than it can filter by, the answer
        is None too. A higher limit looks deeper; it reaches every such row, each once.
        """

    def holds(self, namespace: str, space: str, body: Body) -> bool:
        """This very body is there and can be read here."""

    def numbers(self, namespace: str, space: str, body: Body) -> Iterator[int]:
        """Every number the body holds; nothing where there is no such body."""

    def drop(self, namespace: str, space: str | None = None) -> None:
        """Remove the body of a space, or everything of a namespace."""

    def hindrance(self) -> str | None:
        """Why this process cannot use the index, in words; None when it can."""

    def close(self) -> None:
        """Release what is open."""


class Sink(Protocol):
    """Something that wants to hear of every write, at least once."""

    @property
    def name(self) -> str:
        """The name its cursor is kept under."""

    def deliver(self, namespace: str, blocks: Sequence[Block]) -> None:
        """Take the blocks of one commit, or raise to be asked again."""


class Redactor(Protocol):
    """Takes personal data and secrets out of whatever is kept or embedded."""

    def text(self, value: str) -> str:
        """The text with a placeholder for each; doing it twice changes nothing."""

    def json(self, value: Json) -> Json:
        """The same for every text within a value."""

    def identity(self, value: str) -> str:
        """The same for what identifies a project, an agent or a file; names of people stay."""


class Ids(Protocol):
    """Where ids come from."""

    def draw(self, prefix: str) -> str:
        """A new id `<prefix>_<ms>_<6 hex>`, never the same twice in this process."""


class LLM(Protocol):
    """A language model that carries a text on."""

    def complete(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The answer to a prompt; raises LLMError when none can be had."""
