"""Takes out what stands between `<private>` tags: the user does not want it stored or looked for.

Tags count in any case and may be nested; one that is never closed hides the rest of its text. A
tag that is quoted as code, and that no closing tag follows, is talk about the tag.
"""

import re
from functools import cache


def without_private(text: str) -> str:
    """Returns the text without its private parts; a space stands where one was."""
    return split_private(text)[0]


def split_private(text: str) -> tuple[str, str]:
    """Returns what is public of a text, and what is private, in linear time."""
    tags = list(_tags().finditer(text))
    last = max((tag.start() for tag in tags if _closes(tag)), default=-1)
    public: list[str] = []
    private: list[str] = []
    depth = place = 0
    for tag in tags:
        if not _closes(tag) and _is_quoted(text, tag) and tag.start() > last:
            continue
        (private if depth else public).append(text[place : tag.start()])
        depth = max(0, depth - 1) if _closes(tag) else depth + 1
        place = tag.end()
    (private if depth else public).append(text[place:])
    return " ".join(public), " ".join(private)


def _closes(tag: re.Match[str]) -> bool:
    return bool(tag["closes"] or tag["shuts"])


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    return text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]


@cache
def _tags() -> re.Pattern[str]:
    """Pattern of a tag, also one that is written as an entity, has attributes or is cut off."""
    opens, ends = r"(?:<|&lt;|\uff1c)", r"(?:>|&gt;|\uff1e)"
    rest = rf"[^<>&\uff1c\uff1e\n]{{0,200}}+{ends}"
    return re.compile(
        rf"{opens}(?P<closes>/)?private(?![\w.:-]|/(?!{ends}))(?:{rest})?+"
        rf"|{opens}\s{{0,8}}+(?P<shuts>/\s{{0,8}}+)?private(?![\w.:-])(?:{rest})",
        re.IGNORECASE,
    )
