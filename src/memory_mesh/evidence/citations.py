"""What a citation is, and what became of the text that it cites: values in, values out.

The cited text counts as it is read: without spaces and line breaks, without the kind of its quotes
and without trailing commas. A symbol cites its definition, lines cite their text, and a path alone
cites the file, which may change as long as it keeps half of its words.

A citation is an object of JSON in the memory's metadata, so every format and every edit keeps it::

    {"path": "src/queue.py", "symbol": "Queue.push", "lines": "40-52", "hash": "311-kfjp…",
     "words": "…", "word": "max_attempts", "commit": "1f2e3d4c5b6a"}
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from memory_mesh.base.digests import sha256
from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.evidence.definitions import Definition, definitions, named, plain
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown

KEY = "evidence"  # of the metadata
MOST = 20  # citations of one memory
_MOST_CHARS = 1_000  # of a path or a symbol
_KEPT_WORDS = 24  # of a text, for telling what it became
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEF"
_HASH_LETTERS = 20
KEPT_WORDS_SHARE = 0.5  # of a file that is still the same one
_ALIKE = 0.4  # share of the words of lines that were changed and are not gone
_STILL_ALIKE = 0.6  # the same, where git takes them for gone
_SAME_THING = 0.04  # share of the words of a file that was rewritten and not replaced
_MOVED_AND_CHANGED = 0.75  # share of the words of a definition that is somewhere else


class CodeState(StrEnum):
    """What became of cited code."""

    FRESH = "fresh"
    MOVED = "moved"
    DRIFTED = "drifted"
    ORPHANED = "orphaned"
    UNCHECKED = "unchecked"  # it was not there when it was cited


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place in a repository, and what stood there."""

    path: str
    symbol: str | None = None
    lines: tuple[int, int] | None = None
    hash: str | None = None  # how many characters count, and a digest of them
    words: str = ""  # some of the words, each as four letters
    word: str = ""  # a telling one, to look for
    copies: int = 1  # of the cited lines in the file
    commit: str | None = None
    earlier: str = ""  # the path before `check --fix` followed it; another branch has it there

    def __str__(self) -> str:
        """The place as a person writes it."""
        if self.symbol is not None:
            return f"{self.path}#{self.symbol}"
        if self.lines is None:
            return self.path
        first, last = self.lines
        return f"{self.path}:{first}" + (f"-{last}" if last > first else "")

    def as_json(self) -> dict[str, Json]:
        """The citation as metadata holds it."""
        lines = None if self.lines is None else f"{self.lines[0]}-{self.lines[1]}"
        held: dict[str, Json] = {
            "path": self.path,
            "symbol": self.symbol,
            "lines": lines,
            "hash": self.hash,
            "words": self.words or None,
            "word": self.word or None,
            "copies": self.copies if self.copies > 1 else None,
            "commit": self.commit,
            "earlier": self.earlier or None,
        }
        return {name: value for name, value in held.items() if value is not None}


@dataclass(frozen=True, slots=True)
class CitedCode:
    """What became of one citation, and where its text stands now."""

    citation: Citation
    verdict: CodeState
    now: Citation | None = None  # where it is, as it would be cited now


@dataclass(frozen=True, slots=True)
class CheckedEvidence:
    """What became of all that a memory cites."""

    verdict: CodeState
    findings: tuple[CitedCode, ...]

    @property
    def note(self) -> str:
        """What a prompt is told of code that changed."""
        changed = [
            one for one in self.findings if one.verdict in (CodeState.DRIFTED, CodeState.ORPHANED)
        ]
        commit = changed[0].citation.commit if changed else None
        since = f" since, commit {commit}" if commit else " since"
        told = "is gone" if self.verdict is CodeState.ORPHANED else f"changed{since}"
        places = ", ".join(str(one.citation) for one in changed)
        return _signs().sub("?", f"the code {told}: {places}")[:_NOTE_CHARS]

    def evidence(self) -> list[dict[str, Json]]:
        """The citations as they would be made now; what is gone stays as it was."""
        return [(one.now or one.citation).as_json() for one in self.findings]


@dataclass(frozen=True, slots=True)
class Sight:
    """Where cited text stands in a file now, and whether it is the same."""

    lines: tuple[int, int] | None
    same: bool
    symbol: str | None = None  # another name that it has now
    share: float = 1.0  # of its words that are there


class SourceText:
    """A text of the repository, and what is derived from it when it is asked for."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines: list[str] = text.splitlines()

    @cached_property
    def definitions(self) -> list[Definition]:
        """What it defines."""
        name = self.path.rpartition("/")[2]
        return definitions(self.lines, f".{name.rpartition('.')[2].lower()}" if "." in name else "")

    @cached_property
    def counted(self) -> str:
        """All that counts of it, without line breaks."""
        return self._marked.replace("\n", "")

    @cached_property
    def starts(self) -> dict[int, int]:
        """The line that begins at each place of `counted`."""
        found: dict[int, int] = {}
        numbers = (at for at, line in enumerate(self.lines, start=1) if line.strip())
        place = 0
        for number, part in zip(numbers, self._marked.split("\n"), strict=False):
            if part:
                found[place] = number
            place += len(part)
        return found

    @cached_property
    def _marked(self) -> str:
        return _marked(self.lines)


# What callers write.


def citation_of(value: object) -> Citation:
    """Reads `path`, `path:10-20`, `path#symbol`, or a mapping with these; else InvalidInput."""
    if isinstance(value, Mapping):
        given = {str(name): each for name, each in value.items() if each is not None}
        unknown = given.keys() - _FIELDS
        if unknown:
            raise InvalidInput(f"evidence has no {min(unknown)}; it has {', '.join(_FIELDS)}")
        lines = given.get("lines")
        copies = given.get("copies")
        texts = {name: _text(given[name], name) for name in _TEXTS if name in given}
        place = citation_of(_text(given.get("path"), "path"))
        return Citation(
            path=place.path,
            symbol=texts.get("symbol", place.symbol),
            lines=place.lines if lines is None else _range(lines),
            hash=texts.get("hash"),
            words=texts.get("words", ""),
            word=texts.get("word", ""),
            copies=copies if type(copies) is int else 1,
            commit=texts.get("commit"),
            earlier=texts.get("earlier", ""),
        )
    text = _text(value, "evidence").strip()
    path, hash_sign, symbol = text.partition("#")
    found = _places().fullmatch(path)
    lines = None if found is None else _range(found[2].replace("L", ""))
    path = (path if found is None else found[1]).strip()
    if not path or path[0] == ":" or "\0" in path or len(text) > _MOST_CHARS:
        raise InvalidInput(f"evidence names a file, such as src/a.py:10-20, not {shown(text)}")
    if hash_sign and (at := _range_of(symbol)) is not None:
        return Citation(path=path, lines=at)
    return Citation(path=path, symbol=symbol.strip() or None, lines=lines)


def citations_of(value: object) -> list[Citation]:
    """Reads one citation or several."""
    given = [value] if isinstance(value, str | Mapping) else value
    if not isinstance(given, Sequence):
        raise InvalidInput("evidence is a list of places, such as src/a.py:10-20 or src/a.py#name")
    if len(given) > MOST:
        raise InvalidInput(f"a memory has at most {MOST} places as evidence, not {len(given)}")
    return [citation_of(each) for each in given]


def kept_in(extra: Mapping[str, Json]) -> list[Citation]:
    """The citations in a memory's metadata; none where that key holds something else."""
    value = extra.get(KEY)
    try:
        return citations_of(value) if value else []
    except InvalidInput:
        return []


def states_of(value: Json) -> set[tuple[str, str | None]]:
    """What evidence says of the code: each place without its lines, and the digest of its text."""
    return {(f"{one.path}#{one.symbol}", one.hash) for one in kept_in({KEY: value})}


# What is kept of a text when it is cited.


def cited(citation: Citation, file: SourceText | None, commit: str | None) -> Citation:
    """The citation with what stands at its place now; as it is where there is nothing."""
    if file is None:
        return citation
    if citation.symbol is not None:
        found = named(file.definitions, citation.symbol)
        if not found:
            return citation
        citation = replace(citation, symbol=found[0].name, lines=(found[0].start, found[0].end))
    last = len(file.lines)
    first, end = citation.lines or (1, last)
    if not 1 <= first <= end <= last:
        return citation
    text = counted(file.lines[first - 1 : end])
    said = set(_words().findall("\n".join(file.lines[first - 1 : end])))
    name = _last_name(citation.symbol)
    copies = sum(1 for _ in _same_text(file, _hash(text))) if citation.symbol is None else 1
    return replace(
        citation,
        hash=_hash(text),
        words=" ".join(_kept(said - {name})),
        word=max((one for one in said if one != name), key=lambda one: (len(one), one), default=""),
        copies=max(1, copies) if citation.lines is not None else 1,
        commit=commit,
    )


# What became of it.


def seen(citation: Citation, file: SourceText) -> Sight | None:
    """Where the cited text stands in its own file, or what it became; None if it is gone."""
    if citation.hash is None:
        return Sight(citation.lines, same=True)
    if citation.lines is None:
        return _whole(citation, file)
    first, last = citation.lines
    if first <= last <= len(file.lines):
        text = counted(file.lines[first - 1 : last])
        if _hash(text) == citation.hash and _is_named(file, first, citation.symbol):
            return Sight(citation.lines, same=True)
    if citation.symbol is not None:
        return _defined(citation, file)
    matches = list(_same_text(file, citation.hash))
    if len(matches) >= citation.copies:
        return Sight(min(matches, key=lambda one: abs(one[0] - first)), same=True)
    return None


def holds(citation: Citation, file: SourceText) -> bool:
    """Whether a file has the cited lines somewhere."""
    return citation.hash is not None and any(True for _ in _same_text(file, citation.hash))


def rewritten(citation: Citation, then: SourceText | None, now: SourceText) -> Sight | None:
    """What stands in the place of cited lines that were rewritten; None if they were taken out.

    Without the file as it was then, what has most of their words counts as them.
    """
    if citation.lines is None or citation.symbol is not None:
        return None
    if then is None:
        return _alike(citation, now, _ALIKE)
    from difflib import SequenceMatcher  # few citations come to this

    first, last = citation.lines[0] - 1, citation.lines[1]
    old, new = ([counted([line]) for line in file.lines] for file in (then, now))
    for tag, start, end, begin, stop in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag == "replace" and start < last and end > first:
            return Sight((begin + 1, stop), same=False, share=0.0)
    return _alike(citation, now, _STILL_ALIKE)


def elsewhere(citation: Citation, file: SourceText, *, renamed: bool) -> Sight | None:
    """Where cited text that is gone from its place stands in another file.

    A file that the cited one was renamed to holds the same things; elsewhere the same name with
    another body is another thing.
    """
    if citation.hash is None:
        return None
    if citation.lines is None:
        share = _share(citation, _distinct(file.lines))
        if not renamed and len(citation.words.split()) < _LEAST_WORDS:
            return None
        if share > KEPT_WORDS_SHARE or (renamed and share > _SAME_THING):
            return Sight(None, same=share > KEPT_WORDS_SHARE, share=share)
        return None
    if citation.symbol is None:
        if int(citation.hash.partition("-")[0]) >= _LEAST_TO_FIND or renamed:
            for lines in _same_text(file, citation.hash):
                return Sight(lines, same=True)
        return _alike(citation, file, _ALIKE) if renamed else None
    found = _defined(citation, file)
    if found is None or found.same or renamed or found.share >= _MOVED_AND_CHANGED:
        return found
    return None


def worst(verdicts: Sequence[CodeState]) -> CodeState:
    """The verdict on a memory that cites several places; what is gone in part has drifted."""
    known = [one for one in verdicts if one is not CodeState.UNCHECKED]
    if not known:
        return CodeState.UNCHECKED if verdicts else CodeState.FRESH
    if all(one is CodeState.ORPHANED for one in verdicts):
        return CodeState.ORPHANED
    for one in (CodeState.ORPHANED, CodeState.DRIFTED):
        if one in known:
            return CodeState.DRIFTED
    return CodeState.MOVED if CodeState.MOVED in known else CodeState.FRESH


def counted(lines: Sequence[str]) -> str:
    """What counts of some lines."""
    return _marked(lines).replace("\n", "")


def _defined(citation: Citation, file: SourceText) -> Sight | None:
    """The definition of a cited symbol, or the same one under another name."""
    symbol = citation.symbol or ""
    exact = [one for one in file.definitions if plain(one.name) == plain(symbol)]
    for one in exact:
        if _hash(counted(file.lines[one.start - 1 : one.end])) == citation.hash:
            return Sight((one.start, one.end), same=True)
    if exact:
        return _changed(citation, file, exact[0])
    for one in file.definitions:
        if _is_renamed(citation, file.lines[one.start - 1 : one.end], one.name):
            return Sight((one.start, one.end), same=True, symbol=one.name)
    if len(citation.words.split()) < _LEAST_ALIKE:
        return None
    most = _OTHER_SIZE * int((citation.hash or "0").partition("-")[0])
    others = (
        _changed(citation, file, one)
        for one in file.definitions
        if len(counted(file.lines[one.start - 1 : one.end])) <= most
    )
    best = max(others, key=lambda one: one.share, default=None)
    return best if best is not None and best.share >= _MOVED_AND_CHANGED else None


def _changed(citation: Citation, file: SourceText, one: Definition) -> Sight:
    share = _share(citation, _distinct(file.lines[one.start - 1 : one.end]))
    return Sight((one.start, one.end), same=False, symbol=one.name, share=share)


def _is_renamed(citation: Citation, lines: Sequence[str], name: str) -> bool:
    """Whether a definition is the cited one with its own name, or those around it, changed."""
    before, after = _joints().split(citation.symbol or ""), _joints().split(name)
    pairs = list(zip(reversed(after), reversed(before), strict=False))
    everywhere, at_head = list(lines), list(lines[:1])
    for new, old in pairs:
        everywhere = [_renamed(line, new, old) for line in everywhere]
        at_head = [_renamed(line, new, old) for line in at_head]
    texts = (everywhere, [*at_head, *lines[1:]])
    return any(_hash(counted(text)) == citation.hash for text in texts)


def _renamed(line: str, new: str, old: str) -> str:
    if new == old or new not in line:
        return line
    return re.sub(rf"(?<!\w){re.escape(new)}(?!\w)", lambda _: old, line)


def _whole(citation: Citation, file: SourceText) -> Sight | None:
    share = _share(citation, _distinct(file.lines))
    if share > KEPT_WORDS_SHARE:
        return Sight(None, same=True)
    return Sight(None, same=False, share=share) if share > _SAME_THING else None


def _alike(citation: Citation, file: SourceText, least: float) -> Sight | None:
    """The lines that have most of the words of those that were cited."""
    first, last = citation.lines or (1, 1)
    size = last - first + 1
    marks = [_kept_all(line) for line in file.lines]
    best, place = 0.0, 0
    wanted = citation.words.split()
    for at in range(max(1, len(marks) - size + 1)):
        there = set().union(*marks[at : at + size])
        share = sum(one in there for one in wanted) / max(1, len(wanted))
        if (share, -abs(at + 1 - first)) > (best, -abs(place + 1 - first)):
            best, place = share, at
    if best < least:
        return None
    return Sight((place + 1, min(len(file.lines), place + size)), same=False, share=best)


def _same_text(file: SourceText, hash_: str) -> Iterator[tuple[int, int]]:
    """The lines that hold the cited text from the beginning of a line to the end of one."""
    size = int(hash_.partition("-")[0])
    text, starts = file.counted, file.starts
    ends = {*starts, len(text)}
    for place, line in starts.items():
        end = place + size
        if end not in ends and not (text[end : end + 1] == "," and end + 1 in ends):
            continue
        if _hash(text[place:end]) == hash_:
            last = [number for at, number in starts.items() if place <= at < end]
            yield line, last[-1]


def _hash(text: str) -> str:
    """How long a text is, and letters that stand for it: nobody takes them for a card or a key."""
    text = text.removesuffix(",")
    digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return f"{len(text)}-{''.join(_LETTERS[byte % 26] for byte in digest[:_HASH_LETTERS])}"


def _marked(lines: Sequence[str]) -> str:
    """What counts of each line that is not blank."""
    text = "\n".join(["".join(line.split()) for line in lines if line.strip()])
    return _trailing().sub(r"\1", text.replace('"', "'").replace("`", "'"))


def _is_named(file: SourceText, line: int, symbol: str | None) -> bool:
    """Whether the names around a symbol stand somewhere before its line."""
    outer = _joints().split(symbol or "")[:-1]
    above = "\n".join(file.lines[:line]) if outer else ""
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", above) for name in outer)


def _last_name(symbol: str | None) -> str:
    if symbol is None or " " in symbol:
        return symbol or ""
    return _joints().split(symbol)[-1]


def _distinct(lines: Sequence[str]) -> set[str]:
    return set().union(*(_kept_all(line) for line in lines)) if lines else set()


def _kept(words: set[str]) -> list[str]:
    """A sample of words that is the same for any text with these words."""
    return sorted(map(_mark, words))[:_KEPT_WORDS]


def _kept_all(line: str) -> set[str]:
    return {_mark(word) for word in _words().findall(line)}


def _mark(word: str) -> str:
    number = zlib.crc32(word.encode("utf-8", "surrogatepass"))
    return "".join(_LETTERS[(number >> shift) & 31] for shift in (0, 5, 10, 15))


def _share(citation: Citation, there: set[str]) -> float:
    wanted = citation.words.split()
    return sum(one in there for one in wanted) / len(wanted) if wanted else 0.0


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} of evidence must be a text, not {shown(value)}")
    return value


def _range(value: object) -> tuple[int, int]:
    """Lines as `10`, `10-20`, or two numbers."""
    if isinstance(value, str) and (found := _range_of(value)) is not None:
        return found
    parts = [value, value] if isinstance(value, int) else value
    if isinstance(parts, Sequence) and len(parts) == 2:  # noqa: PLR2004  # first and last
        first, last = parts
        if type(first) is int and type(last) is int and 1 <= first <= last:
            return first, last
    raise InvalidInput(f"lines of evidence are given as 10-20, not {shown(value)}")


def _range_of(text: str) -> tuple[int, int] | None:
    found = _lines().fullmatch(text.strip())
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return (first, last) if 1 <= first <= last else None


_NOTE_CHARS = 160
_signs = lazy_pattern(r"[^\w./#:, \-]")
_FIELDS = ("path", "symbol", "lines", "hash", "words", "word", "copies", "commit", "earlier")
_TEXTS = ("symbol", "hash", "words", "word", "commit", "earlier")
_OTHER_SIZE = 1.6  # times as long a definition may be that was renamed and changed
_LEAST_ALIKE = 4  # words of a definition that is known by them under another name
_LEAST_WORDS = 6  # of a file that is known by them alone
_LEAST_TO_FIND = 24  # characters of cited lines that are looked for in other files
_places = lazy_pattern(r"(.+?):(L?\d+(?:-L?\d+)?)(?::\d+)?")
_lines = lazy_pattern(r"L?(\d{1,9})(?:-L?(\d{1,9}))?")
_words = lazy_pattern(r"[^\W_]\w*|\w*[^\W_]\w*")
_joints = lazy_pattern(r"::|->|[.#/]")
_trailing = lazy_pattern(r",(\n*[)\]}])")
