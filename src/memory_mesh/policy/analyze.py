"""Text to terms: what the keyword index stores of a text and what a query asks it for.

::

    text -> NFKC -> chunks -> words -> parts, and the whole joined -> no stop words -> stems

A chunk is a run without spaces (`src/getUserName.py`); its terms are cached, so a known word costs
one lookup. A term holds a-z, 0-9, # and +, and beyond ASCII letters, digits and marks, no more.
A joined identifier is stemmed like a word: `getUserName` and `getusername` meet in one term.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise

import Stemmer

ANALYZER = 1  # stored with the data: raise it when any text would give other terms
MAX_CHARS = 100_000
MAX_TERM = 64
CACHED_CHUNKS = 32_768

_STOP = (
    "a about above after again against ain't all am an and any are aren't as at be because been "
    "before being below between both but by can can't cannot could couldn't did didn't do does "
    "doesn't doing don't down during each few for from further had hadn't has hasn't have haven't "
    "having he her here hers herself him himself his how i if in into is isn't it its itself just "
    "me more most mustn't my myself needn't no nor not now of off on once only or other our ours "
    "ourselves out over own same she should shouldn't so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up very was wasn't we "
    "were weren't what when where which while who whom why will with won't would wouldn't you your "
    "yours yourself yourselves"
)
STOP_WORDS = frozenset(_STOP.replace("'", "").split())

_ENDINGS = frozenset(("s", "re", "ve", "ll", "d", "m"))  # user's, they're, we've, she'll, I'd, I'm
_VOWELS_AND_S = frozenset("aeiouys")
_NAMES_IN_S = frozenset(("aws", "ios"))  # not the plural of io
_ACRONYM = 2  # APIs is a plural, Is is not
_SHORT = 3  # iOS and K8s stay whole, DNS keeps its s
_APOSTROPHES = frozenset("\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\u02bc")
_CONNECTORS = frozenset("_./\\:@'-#+,")
_TO_FOLDERS = str.maketrans("/\\:@", "    ")
_TO_NAMES = str.maketrans("_.'-", "    ")
_PLAIN = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h"}
    | {"Ħ": "H", "\u0131": "i", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th"}
)
# Thai and Lao; Myanmar; Hangul letters; Khmer; Han, kana and Hangul; the rarer Han.
_SPACELESS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x3005, 0xA4CF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)


def terms(text: str) -> list[str]:
    """Every term of the text in order; stop words only when the text has nothing else."""
    chunks = _chunks(text)
    found: list[str] = []
    for chunk in chunks:
        found.extend(_known(chunk) if len(chunk) <= MAX_TERM else _content(chunk))
    return found or [_stem(word) for chunk in chunks for word in _words(chunk)]


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query, in the order of their first occurrence."""
    return list(dict.fromkeys(terms(text)))


def rfc_tokens(text: str) -> list[str]:
    """The tokenizer of RFC-0011 section 5.1: lowercase, camelCase split, at least 3 characters."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:MAX_CHARS])
    return re.findall(r"[^\W_]{3,}", apart.lower())


def _chunks(text: str) -> list[str]:
    """The runs of the text that can hold a term."""
    text = text[:MAX_CHARS]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)[:MAX_CHARS]
    return _chunk_pattern().findall(text)


def _content(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk without its stop words."""
    return tuple(_stem(word) for word in _words(chunk) if word not in STOP_WORDS)


_known = lru_cache(maxsize=CACHED_CHUNKS)(_content)


def _words(chunk: str) -> Iterator[str]:
    """The lowercase words of one chunk, cut at MAX_TERM."""
    if chunk.isascii():
        plain = chunk.isalpha() and chunk[1:].islower()  # most words, and nothing to take apart
        yield from (chunk.lower()[:MAX_TERM],) if plain else _identifier(chunk)
        return
    for piece in _chunk_pattern().findall(_fold(chunk)):
        yield from _identifier(piece) if piece.isascii() else _foreign(piece)


def _identifier(piece: str) -> list[str]:
    """The parts of an ASCII word, name or path, each joined name, and the whole joined."""
    body = _without_ending(piece.replace(",", "").rstrip("#+"))
    folders = [_names(folder) for folder in body.translate(_TO_FOLDERS).split()]
    found: list[str] = []
    for names in folders:
        found.extend(names)
        if len(names) > 1:
            found.append("".join(names)[:MAX_TERM])
    whole = [name for names in folders for name in names]
    if len(whole) > max(map(len, folders), default=0):
        found.append("".join(whole)[:MAX_TERM])
    return _with_sign(found, piece) if piece[-1] in "#+" else found


def _without_ending(piece: str) -> str:
    """A word without its possessive or its contraction: user's is user, don't is dont."""
    head, apostrophe, tail = piece.rpartition("'")
    if apostrophe and tail.lower() in _ENDINGS:
        return head
    return piece.replace("n't", "nt").replace("N'T", "NT")


def _names(folder: str) -> list[str]:
    """The parts of one name, split at its separators and at its camel's humps."""
    return [part for word in folder.translate(_TO_NAMES).split() for part in _humps(word)]


def _humps(word: str) -> list[str]:
    """The parts of a camelCase word; an acronym, a short word and a blob stay whole."""
    if len(word) > MAX_TERM:
        return [word[:MAX_TERM].lower()]
    if len(word) > _ACRONYM and word[-1] == "s" and word[:-1].isupper() and word.isalpha():
        return [word[:-1].lower()]
    if len(word) <= _SHORT or word.isupper() or word[1:].islower():
        return [word.lower()]
    return [part.lower() for part in _hump_pattern().findall(word)]


def _with_sign(found: list[str], piece: str) -> list[str]:
    """The words with the sign of C++ or C# kept; a lone letter means nothing without it."""
    if not found:
        return found
    sign = "#" if piece[-1] == "#" else "++"
    words = piece.rstrip("#+").translate(_TO_FOLDERS | _TO_NAMES).split()
    last = words[-1].lower()[: MAX_TERM - len(sign)]
    return [last + sign] if len(piece) == 1 + len(sign) else [*found, last + sign]


def _fold(chunk: str) -> str:
    """The chunk with Latin letters bare of marks, and blanks where no letter, digit or mark is."""
    kept: list[str] = []
    base = ""
    for char in unicodedata.normalize("NFD", chunk.translate(_PLAIN)):
        category = unicodedata.category(char)
        if category[0] in "LN" and char not in _APOSTROPHES:
            base = char
            kept.append(char)
        elif category[0] == "M":
            if base > "\u024f":  # after a Latin letter, or after none, a mark is dropped
                kept.append(char)
        elif category != "Cf":
            base = ""
            kept.append(
                char if char in _CONNECTORS else "'" if char in _APOSTROPHES else " ",
            )
    return unicodedata.normalize("NFC", "".join(kept))


def _foreign(piece: str) -> Iterator[str]:
    """The words of a folded piece beyond ASCII; a script without spaces gives bigrams."""
    names: list[str] = []
    joinable = True
    for script, run in groupby(piece, key=_script):
        text = "".join(run)
        if script == "spaceless":
            joinable = False
            yield from _bigrams(text)
        elif script == "word" and any(map(str.isalnum, text)):
            name = text.casefold()[:MAX_TERM]
            names.append(name)
            yield from _identifier(text) if text.isascii() else [name]
    if joinable and len(names) > 1:
        yield "".join(names)[:MAX_TERM]


def _script(char: str) -> str:
    """Whether a character connects words, belongs to one, or to a script without spaces."""
    if char in _CONNECTORS:
        return "connector"
    code = ord(char)
    return "spaceless" if any(low <= code <= high for low, high in _SPACELESS) else "word"


def _bigrams(run: str) -> list[str]:
    """Every two neighbouring letters with their marks; a lone letter stands for itself."""
    letters: list[str] = []
    for char in run.casefold():
        if char.isalnum() or not letters:
            letters.append(char)
        elif len(letters[-1]) < MAX_TERM // 2:
            letters[-1] += char
    pairs = [left + right for left, right in pairwise(letters)]
    return pairs or letters


def _stem(word: str) -> str:
    """The English Snowball stem of a plain word; names with digits or signs stay as they are."""
    if not (word.isascii() and word.isalpha()) or word in _NAMES_IN_S:
        return word
    if len(word) > _SHORT and word[-1] == "s" and not _VOWELS_AND_S.intersection(word[:-1]):
        return word[:-1]  # LLMs and PDFs: Snowball wants a vowel before it drops the s
    # A stemmer is not thread-safe; a new one costs a third of a microsecond, and stems are cached.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


@lru_cache(maxsize=1)
def _chunk_pattern() -> re.Pattern[str]:
    """Words held together by single connectors; 1,000 is one, and so is C++ with its sign."""
    run = r"[^\x00-/:-@\[-^`{-\x7f]+"  # what is not in ASCII, and its letters, digits and _
    return re.compile(
        rf"{run}(?:(?:://|::|[./\\:@'-]){run}|(?<=[0-9]),[0-9]{{3}}(?![0-9A-Za-z]))*"
        r"(?:\+\+|#(?![A-Za-z0-9]))?"
    )


@lru_cache(maxsize=1)
def _hump_pattern() -> re.Pattern[str]:
    """HTTPServer2Name is HTTP, Server2, Name."""
    return re.compile(r"[A-Z]{2,}(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z]")
