"""Keywords and tags that Memory Lane gives a text."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from memory_mesh.policy.text import analyze

KEYWORDS, AUTO_TAGS = 10, 5  # terms that stand for a text
_SATURATION = 1.2  # BM25's k1
_MAX_COUNTED_CHARS = 8  # characters: a longer term says no more


def keywords(text: str) -> tuple[str, ...]:
    """The terms that say most about a text: often there, with BM25's saturation, and long.

    Ties keep the order of the text, so that the same text always has the same keywords.
    """
    weight = {
        term: times
        * (_SATURATION + 1)
        / (times + _SATURATION)
        * math.log1p(min(len(term), _MAX_COUNTED_CHARS))
        for term, times in Counter(analyze.terms(text)).items()
    }
    return tuple(sorted(weight, key=lambda term: -weight[term])[:KEYWORDS])


def auto_tags(text: str, slugs: Sequence[str]) -> tuple[str, ...]:
    """Its entities, what the files it names are written in, and its first keywords."""
    written = [_WRITTEN_IN[ending] for ending in _FILE.findall(text) if ending in _WRITTEN_IN]
    return tuple(dict.fromkeys((*slugs, *written, *keywords(text)[:AUTO_TAGS])))


_FILE = re.compile(r"[\w-]\.([a-z]{1,5})\b")
_WRITTEN_IN = {
    "css": "css",
    "go": "go",
    "html": "html",
    "js": "javascript",
    "jsx": "javascript",
    "md": "markdown",
    "py": "python",
    "rs": "rust",
    "sql": "sql",
    "ts": "typescript",
    "tsx": "typescript",
}
