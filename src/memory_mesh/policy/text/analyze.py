"""Converts text to the terms of the keyword index, for texts and queries.

::

    text -> NFKC -> chunks -> words -> parts, and the whole joined -> no stop words -> stems

A chunk is a run without spaces (`src/getUserName.py`). None goes across a blank, so the terms of an
ASCII text are those of its words one after another, and a known word costs one lookup. A term holds
a-z, 0-9, # and +, and beyond ASCII letters, digits and marks, no more.
A joined identifier is stemmed like a word: `getUserName` and `getusername` meet in one term.
Spellings of one word meet as well: traditional and simplified Chinese in the simplified one, Arabic
without its vowels, digits of any script in ours; and Müller gives `muller` and `mueller`.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice, pairwise

import Stemmer

from memory_mesh.policy.text import KnownWords
from memory_mesh.typed import Literal

ANALYZER = 2  # raise it when a text gives other terms: upkeep then writes those of stores anew
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
_APOSTROPHES = frozenset(
    "\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}\u02bc"
    "\N{HEBREW PUNCTUATION GERESH}"
)
_PUNCTUATION = ".,;:!?)"  # after a word, not of it
_CONNECTORS = frozenset("_./\\:@'-#+,")
_TO_FOLDERS = str.maketrans("/\\:@", "    ")
_TO_NAMES = str.maketrans("_.'-", "    ")
_PLAIN = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ħ": "h"}
    | {"Ħ": "H", "\u0131": "i", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "þ": "th", "Þ": "Th"}
    | {"\N{ARABIC TATWEEL}": "", "\N{ARABIC LETTER ALEF MAKSURA}": "\N{ARABIC LETTER YEH}"}
)
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_LATIN_AND_GREEK = "\u03ff"
_UNPOINTED = ("\u0590", "\u077f")  # Hebrew, Arabic, Syriac: their vowels are marks, mostly left out
_TEH_MARBUTA_OR_HEH = ("\N{ARABIC LETTER TEH MARBUTA}", "\N{ARABIC LETTER HEH}")
# A letter that the language lacks shows another one: Persian, Urdu and Ukrainian stay whole.
_ALPHABETS = {
    "arabic": frozenset(map(chr, range(0x0621, 0x064B))),
    "russian": frozenset(map(chr, range(0x0430, 0x0450))) | {"ё"},
}
# Keyboards mix these in one language, Persian or Urdu.
_SHARED_LETTERS = str.maketrans(
    {
        "\N{ARABIC LETTER KEHEH}": "\N{ARABIC LETTER KAF}",
        "\N{ARABIC LETTER FARSI YEH}": "\N{ARABIC LETTER YEH}",
        "\N{ARABIC LETTER HEH GOAL}": "\N{ARABIC LETTER HEH}",
    }
)
_HEX = "0x"
_LONG_RUN = 2_000  # characters: as many marks take a few milliseconds to be put in order
_HALFWIDTH_MARKS = "\uff9e\uff9f"  # letters that become marks in the normal form
_MARKS = 30  # of one letter, as in Unicode's stream-safe texts
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
    """Returns the terms of a text in order; stop words only if there is nothing else."""
    return joined_terms(text).split() if text.isascii() else _terms(_chunks(text))


def joined_terms(text: str) -> str:
    """Returns the terms of a text in order, with a blank between two."""
    if text.isascii():
        text = text[:MAX_CHARS]
        found = " ".join(filter(None, map(_terms_of_word, text.split())))
        if found:
            return found
    return " ".join(_terms(_chunks(text)))


def query_terms(text: str) -> list[str]:
    """Returns the distinct terms of a query, in order of first occurrence.

    Of the two terms that Müller gives, a query asks for `mueller` alone: it would count twice.
    """
    return list(dict.fromkeys(_terms([_written_out(chunk) for chunk in _chunks(text)])))


def stem(word: str) -> str:
    """Returns the Snowball stem of a word; names with digits or signs are unchanged."""
    if not word.isascii():
        return _stem_beyond_ascii(word)
    if not (word.isascii() and word.isalpha()) or word in _NAMES_IN_S:
        return word
    if len(word) > _SHORT and word[-1] == "s" and not _VOWELS_AND_S.intersection(word[:-1]):
        return word[:-1]  # LLMs and PDFs: Snowball wants a vowel before it drops the s
    # A stemmer is not thread-safe; a new one costs a third of a microsecond, and stems are cached.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


def rfc_tokens(text: str) -> list[str]:
    """The tokenizer of RFC-0011 section 5.1: lowercase, camelCase split, at least 3 characters."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text[:MAX_CHARS])
    return re.findall(r"[^\W_]{3,}", apart.lower())


def _terms(chunks: Sequence[str]) -> list[str]:
    found: list[str] = []
    for chunk in chunks:
        found.extend(_known(chunk) if len(chunk) <= MAX_TERM else _content(chunk))
    return found or [stem(word) for chunk in chunks for word in _words(chunk)]


def _chunks(text: str) -> list[str]:
    """The runs of the text that can hold a term."""
    text = text[:MAX_CHARS]
    if not text.isascii():
        text = _normal("NFKC", text)[:MAX_CHARS]
    return _chunk_pattern().findall(text)


def _content(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk without its stop words."""
    return tuple(stem(word) for word in _words(chunk) if word not in STOP_WORDS)


_known = lru_cache(maxsize=CACHED_CHUNKS)(_content)


def _of_word(word: str) -> str:
    """The terms of an ASCII word without blanks, joined; empty for a stop word."""
    bare = word.rstrip(_PUNCTUATION)
    if not bare.isalnum():
        return " ".join([term for chunk in _chunks(word) for term in _content(chunk)])
    if bare != word:  # the same chunk as without what follows it
        return _terms_of_word(bare)
    if bare.isalpha() and bare[1:].islower():  # as in _words
        bare = bare.lower()[:MAX_TERM]
        return "" if bare in STOP_WORDS else stem(bare)
    return " ".join(_content(bare))


_terms_of_word = KnownWords(_of_word).__getitem__


def _words(chunk: str) -> Iterator[str]:
    """The lowercase words of one chunk, cut at MAX_TERM."""
    if chunk.isascii():
        plain = chunk.isalpha() and chunk[1:].islower()  # most words, and nothing to take apart
        yield from (chunk.lower()[:MAX_TERM],) if plain else _identifier(chunk)
        return
    plainly = list(_folded(chunk))
    yield from plainly
    written = _written_out(chunk)
    if written != chunk:
        known = set(plainly)
        yield from (word for word in _folded(written) if word not in known)


def _written_out(chunk: str) -> str:
    """The chunk with its umlauts as two letters, both capitals where all are."""
    if chunk.isascii():
        return chunk
    written = chunk.translate(_WRITTEN_OUT)
    return written.upper() if chunk.isupper() else written


def _folded(chunk: str) -> Iterator[str]:
    """The words of a chunk beyond ASCII."""
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
    found += [name[len(_HEX) :] for name in whole if name.startswith(_HEX) and name != _HEX]
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
    if len(word) <= _SHORT or word.isupper() or word[1:].islower() or word[:2].lower() == _HEX:
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
    plain = chunk.translate(_PLAIN)
    for char in _normal("NFD", plain.upper() if chunk.isupper() else plain):
        category = unicodedata.category(char)
        if category[0] in "LN" and char not in _APOSTROPHES:
            base = char
            kept.append(str(unicodedata.decimal(char)) if category == "Nd" else char)
        elif category[0] == "M":
            if base > _LATIN_AND_GREEK and not _UNPOINTED[0] <= base <= _UNPOINTED[1]:
                kept.append(char)  # after such a letter, or after none, a mark is dropped
        elif category != "Cf":
            base = ""
            kept.append(
                char if char in _CONNECTORS else "'" if char in _APOSTROPHES else " ",
            )
    return _normal("NFC", "".join(kept))


def _normal(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """The normal form; a letter keeps no more marks than any script gives it.

    Marks are put in order by a time that grows with the square of their number.
    """
    if len(text) > _LONG_RUN and not unicodedata.is_normalized(form, text):
        text = "".join(_few_marks(text))
    return unicodedata.normalize(form, text)


def _few_marks(text: str) -> Iterator[str]:
    for marks, run in groupby(text, key=_is_mark):
        yield from islice(run, _MARKS if marks else None)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M" or char in _HALFWIDTH_MARKS


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
    from memory_mesh.policy.text import chinese  # most texts have none of it

    for char in run.casefold().translate(chinese.simplified()):
        if char.isalnum() or not letters:
            letters.append(char)
        elif len(letters[-1]) < MAX_TERM // 2:
            letters[-1] += char
    return [left + right for left, right in pairwise(letters)] or letters


def _stem_beyond_ascii(word: str) -> str:
    """The stem of a word whose letters are all of one alphabet that we stem."""
    for language, alphabet in _ALPHABETS.items():
        if alphabet.issuperset(word):
            stem = str(Stemmer.Stemmer(language, 0).stemWord(word)) or word
            return stem[:-1] if len(stem) > _SHORT and stem.endswith(_TEH_MARBUTA_OR_HEH) else stem
    return word.translate(_SHARED_LETTERS)


@lru_cache(maxsize=1)
def _chunk_pattern() -> re.Pattern[str]:
    """Pattern of words joined by single connectors, such as 1,000, and of C++ with its sign."""
    run = r"[^\x00-/:-@\[-^`{-\x7f]+"  # what is not in ASCII, and its letters, digits and _
    return re.compile(
        rf"{run}(?:(?:://|::|[./\\:@'-]){run}|(?<=[0-9]),[0-9]{{3}}(?![0-9A-Za-z]))*"
        r"(?:\+\+|#(?![A-Za-z0-9]))?"
    )


@lru_cache(maxsize=1)
def _hump_pattern() -> re.Pattern[str]:
    """Pattern that splits HTTPServer2Name into HTTP, Server2, Name."""
    return re.compile(r"[A-Z]{2,}(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z]")
