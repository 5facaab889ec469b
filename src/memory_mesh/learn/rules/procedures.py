"""Finds procedures in memories: ordered steps that recur.

A step is an item of a numbered list, a command, a sentence that tells what to do, or a part of one
between `first`, `then` and `finally`. A prohibition is a rule, not a step. A procedure is what two
memories do in the same order, what three tell in different words (`tellings`), or what one alone
lays out in at least three steps.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules.reflected_beliefs import figures, negations
from memory_mesh.learn.rules.repeated_procedures import told_alike
from memory_mesh.model import Memory
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import sentences

ALIKE = 0.5  # of the terms of two steps that are the same one
SHARED = 2  # steps that two memories must have in common
ALONE = 3  # steps that one memory must have
_MAX_STEP_CHARS = 300  # characters of a step
_TITLE = 80
_VERBS = (
    "activate add announce apply approve archive ask assign attach back backup build bump call "
    "change check checkout choose clean clear click clone close collect commit compare compile "
    "configure confirm connect copy create cut delete deploy describe disable download draft "
    "drop edit enable ensure enter export fetch fill find fix follow format generate get go "
    "grep import increase init install invite kill launch lint list load lock log login make "
    "mark measure merge migrate monitor mount move notify open package paste pin post prepare "
    "press publish pull push put read rebase rebuild record refresh release reload remove "
    "rename replace report request reset restart restore review revoke roll rotate run save "
    "scale scan schedule search select send set ship show sign squash stage start stop store "
    "submit switch sync tag tell test trigger turn undo uninstall unlock update upgrade upload "
    "use validate verify wait warm watch write"
)


@dataclass(frozen=True, slots=True)
class ProcedureStep:
    """A step: its words and its command, if it has one."""

    text: str
    terms: frozenset[str]
    command: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """The steps that one memory describes; `ordered` if it states their order."""

    memory: Memory
    title: str
    steps: tuple[ProcedureStep, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Procedure:
    """Ordered steps, the number of memories with each, and the memories."""

    title: str
    steps: tuple[str, ...]
    support: tuple[int, ...]
    sources: tuple[str, ...]


def recurring(memories: Sequence[Memory]) -> Procedure | None:
    """Returns the procedure that most memories share, else the longest of a single memory."""
    accounts = [account(memory) for memory in memories]
    shared = [found for one in accounts if (found := _shared(one, accounts)) is not None]
    if shared:
        return max(
            shared, key=lambda found: (len(found.sources), len(found.steps), len(found.title))
        )
    told = told_alike(memories)
    if told is not None:
        return Procedure(told.title, told.steps, told.support, told.sources)
    alone = [one for one in accounts if one.ordered and len(one.steps) >= ALONE]
    if not alone:
        return None
    best = max(alone, key=lambda one: len(one.steps))
    texts = tuple(step.text for step in best.steps)
    return Procedure(best.title, texts, (1,) * len(texts), (best.memory.id,))


def account(memory: Memory) -> Account:
    """Returns the steps of one memory, in order."""
    found: list[ProcedureStep] = []
    title, ordered, commands = "", False, 0
    for said, listed, coded in _units(memory.text):
        if coded:
            found.append(step_of(f"`{said}`"))
            commands += 1
            continue
        lead, unit = ("", said) if listed else _led(said)
        title = title or ("" if found else lead)
        pieces = [unit] if listed else _pieces(unit)
        told = [step for piece in pieces if (step := _told(piece, listed=listed)) is not None]
        if not told and not found and unit.rstrip().endswith(":"):
            title = unit.strip()
        ordered = ordered or listed or len(pieces) > 1 or bool(_openers().match(unit))
        found += told
    title = _titled(title or _heading(memory.text))
    return Account(memory, title, tuple(found), ordered or commands > 1)


def same(one: ProcedureStep, other: ProcedureStep) -> bool:
    """True for the same command or mostly the same words; `do` and `do not` differ."""
    if one.command or other.command:
        return one.command == other.command
    if bool(negations(one.text)) is not bool(negations(other.text)):
        return False
    if figures(one.text) != figures(other.text):
        return False
    joined = len(one.terms | other.terms)
    return bool(joined) and len(one.terms & other.terms) / joined >= ALIKE


def _shared(seed: Account, accounts: Sequence[Account]) -> Procedure | None:
    """Returns the steps that other memories have in the same order."""
    support = [1] * len(seed.steps)
    sources = [seed.memory.id]
    for other in accounts:
        if other.memory.id == seed.memory.id:
            continue
        places = common(seed.steps, other.steps)
        if len(places) >= SHARED:
            sources.append(other.memory.id)
            for place in places:
                support[place] += 1
    kept = [place for place, count in enumerate(support) if count > 1]
    if len(kept) < SHARED:
        return None
    return Procedure(
        seed.title,
        tuple(seed.steps[place].text for place in kept),
        tuple(support[place] for place in kept),
        tuple(sources),
    )


def common(mine: Sequence[ProcedureStep], others: Sequence[ProcedureStep]) -> list[int]:
    """Returns the positions of the longest common subsequence of steps."""
    best = [[0] * (len(others) + 1) for _ in range(len(mine) + 1)]
    alike = [[same(one, other) for other in others] for one in mine]
    for row in reversed(range(len(mine))):
        for column in reversed(range(len(others))):
            skipped = max(best[row + 1][column], best[row][column + 1])
            taken = 1 + best[row + 1][column + 1] if alike[row][column] else 0
            best[row][column] = max(skipped, taken)
    places, row, column = list[int](), 0, 0
    while row < len(mine) and column < len(others):
        if alike[row][column] and best[row][column] == 1 + best[row + 1][column + 1]:
            places.append(row)
            row, column = row + 1, column + 1
        elif best[row + 1][column] >= best[row][column + 1]:
            row += 1
        else:
            column += 1
    return places


def _units(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Yields list items, commands and sentences in order."""
    plain: list[str] = []
    fence, shell = "", False
    for line in text.splitlines():
        bare = line.strip()
        opened = _fences().match(bare)
        if fence:
            if bare.startswith(fence):
                fence = ""
            elif shell and bare and not bare.startswith("#"):
                yield bare.removeprefix("$ "), False, True
            continue
        listed = _numbered().match(bare)
        prompted = bare.startswith("$ ")
        if opened or listed or prompted:
            yield from ((one, False, False) for one in sentences("\n".join(plain)))
            plain = []
        if opened:
            fence, shell = opened[1], opened[2].casefold() in _SHELLS
        elif listed:
            yield bare[listed.end() :], True, False
        elif prompted:
            yield bare.removeprefix("$ "), False, True
        elif not bare.startswith("# ") and not bare.startswith("##"):
            plain.append(line)
    yield from ((one, False, False) for one in sentences("\n".join(plain)))


def _led(sentence: str) -> tuple[str, str]:
    """Splits a sentence at a colon into its announcement and the action."""
    lead, colon, rest = sentence.partition(": ")
    if colon and len(lead) <= _TITLE and _told(_pieces(rest)[0] if rest else "", listed=False):
        return lead, rest
    return "", sentence


def _pieces(sentence: str) -> list[str]:
    """Splits a sentence at each `then`."""
    return [piece for piece in _joints().split(sentence) if piece.strip()]


def _told(piece: str, *, listed: bool) -> ProcedureStep | None:
    """Returns a list item or an instruction as a step."""
    opener = _openers().match(piece)
    bare = piece[opener.end() :] if opener else piece
    asked = _subjects().match(bare)
    bare = (bare[asked.end() :] if asked else bare).strip(" ,;")
    words = [word.strip(",.:`*").casefold() for word in bare.split(maxsplit=2)[:2]]
    first = words[0] if words else ""
    does = (first in _verbs() and words[-1] not in _TELLING) or bare.startswith("`")
    if not bare or not (listed or does) or first in {"never", "not", "don't", "avoid"}:
        return None
    return step_of(bare[0].upper() + bare[1:])


def step_of(text: str) -> ProcedureStep:
    """Returns a step with its words and its command."""
    shown = " ".join(text.split()).rstrip(" .;,")[:_MAX_STEP_CHARS]
    command = _commands().search(shown)
    return ProcedureStep(
        shown, frozenset(analyzer.terms(shown)), command[1].strip() if command else ""
    )


def _heading(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return first.strip("# ") if first.startswith("#") else ""


def _titled(text: str) -> str:
    """Returns the title from a line such as `To release a version:`."""
    plain = " ".join(text.split()).strip(" :.#*")
    plain = _leads().sub("", plain)[:_TITLE].strip()
    return plain[:1].upper() + plain[1:]


_TELLING = frozenset(
    ("are", "failed", "had", "has", "is", "takes", "was", "went", "were", "worked")
)
_SHELLS = frozenset(("", "bash", "console", "sh", "shell", "zsh"))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(_VERBS.split())


_numbered = lazy_pattern(r"(?:\d{1,2}[.)]|(?:[-*]\s+)?\**[Ss]tep\s+\d{1,2}\**\s*[:.)-])\**\s+")


_fences = lazy_pattern(r"(```|~~~)\s*(\w*)")


@cache
def _joints() -> re.Pattern[str]:
    words = r"(?:and\s+)?(?:then|after\s+that|afterwards|next|finally|lastly)"
    return re.compile(
        rf"(?:(?:(?<!\s)\s++)?+[,;]\s*+|(?<!\s)\s++(?=and\s+(?:then|finally)\b)){words}\b,?\s*",
        re.IGNORECASE,
    )


@cache
def _openers() -> re.Pattern[str]:
    words = (
        r"first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after\s+that|afterwards|finally|lastly"
    )
    return re.compile(rf"\s*(?:and\s+)?(?:{words})\b\s*(?:of\s+all)?,?\s*", re.IGNORECASE)


_subjects = lazy_pattern(
    r"(?:please|always|you|we|i|one)\s+(?:(?:must|should|have\s+to|need\s+to|always|can)\s+)?",
    re.IGNORECASE,
)


_commands = lazy_pattern(r"`([^`\n]{2,200})`")


_leads = lazy_pattern(
    r"^(?:how\s+(?:we|to)|steps?\s+(?:to|for)|(?:the\s+)?(?:procedure|checklist|runbook|process)"
    r"\s+(?:to|for|of)|in\s+order\s+to|to)\s+",
    re.IGNORECASE,
)
