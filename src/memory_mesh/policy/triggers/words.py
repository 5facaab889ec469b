"""Natural language in triggers: the key words of a pattern, and the words of a text.

"When implementing security features" is about security. Function words are left out, and so are the
words that any task may have: verbs such as implement or use, nouns such as task or feature. A
pattern that has no other words is read by these.
"""

from functools import lru_cache

from memory_mesh.policy.text import aliases, analyze

_GENERAL = """
    add adjust agent allow apply approach ask asked begin build call change check choose come
    concern consider contain create deal decide decision define describe design discuss do does done
    edit ensure exist explain explore feature figure find follow general get give given go
    handle happen help implement implementation include involve issue keep know let like
    look make maintain manage mean mention modify move need new occur part perform plan
    please prepare problem produce propose provide put question read refer regard
    relate relevant require result run say see set setup set-up show something specific start
    step subject support sure take talk task tell thing think topic touch try understand
    update use user want way whenever whether wish work write
"""
_NAME = 2  # words of a name


def keys(pattern: str) -> tuple[str, ...]:
    """Returns the stems of the key words of a pattern, in their order.

    A short name such as `feature flag` is looked for as a whole: all its words are key words.
    """
    found = analyze.query_terms(pattern)
    first = pattern.split(maxsplit=1)[0]
    if len(found) <= _NAME and not (first in analyze.STOP_WORDS or first.endswith("ing")):
        return tuple(found)
    return tuple(term for term in found if term not in _general()) or tuple(found)


def is_general(pattern: str) -> bool:
    """True if a pattern has only words that any task may have."""
    return not any(term not in _general() for term in analyze.query_terms(pattern))


def spoken(text: str) -> frozenset[str]:
    """Returns the stems of a text's words and of their other names: auth, k8s."""
    found = analyze.terms(text)
    names = aliases.expand(list(dict.fromkeys(found)))
    other = (word for each in names.values() for name in each for word in name.words)
    return frozenset((*found, *other))


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    return frozenset(analyze.stem(word) for word in _GENERAL.split())
