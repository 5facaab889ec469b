"""Finds the sentences of a prompt that its writer wrote: no code, logs, quotes or pasted texts.

::

    prompt ──▶ lines ──▶ blocks of prose ──▶ sentences
                 │
                 └─ left out: commands of the host, fences, logs, diffs, quoted lines, tables,
                    markup blocks, and what follows `summarize this page:` or `User:`

Each step reads the text once, so a prompt of 100 KB costs as much as a hundred of 1 KB.
"""

import re
from collections.abc import Iterator, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules import statement_phrases as phrases
from memory_mesh.learn.rules.phrases import CURLY
from memory_mesh.text.sentences import asks

MAX_SENTENCE_CHARS = 400  # nobody states a thing to keep in more; such a line is pasted
_WRAPPED = 60  # characters: a line as long as that was broken by an editor, not by its writer
_SHORT_WORDS = "approx bzw ca cf d.h e.g eg etc i.e ie incl max min nr p.ej p.ex sec usw vs z.b"
_SHORT = frozenset(_SHORT_WORDS.split())
_REST, _PART = "rest", "part"  # of a prompt: to its end, or to the next empty line
_SPEECH = 6  # words of a quotation that may have sentences of its own: `Dr. L. Berg` has three
_SIGNS = 0.25  # share of signs from which a line is code


def own_sentences(prompt: str) -> list[str]:
    """Returns the sentences that the writer of a prompt wrote, in order."""
    prompt = prompt.replace(CURLY, "'")
    if _commands().match(prompt.lstrip()):
        return []
    blocks = _blocks(_without_markup(prompt).splitlines())
    found = [part for block in blocks for part in _spoken(block)]
    return [one for one in found if len(one) <= MAX_SENTENCE_CHARS]


def without_quotes(sentence: str) -> str:
    """Returns the sentence with each quotation as `""` and each piece of code as `x`."""
    return _told().sub(r'\1: ""', _quotes().sub('""', _code().sub("`x`", sentence)))


def reports(sentence: str) -> bool:
    """True for a sentence that says what somebody else said, word for word."""
    plain = without_quotes(sentence)
    return '""' in plain and bool(_told().search(plain) or phrases.reports().search(plain))


def quotations(sentences: Sequence[str]) -> list[tuple[int, int]]:
    """Returns where sentences that are joined by blanks quote somebody."""
    whole = "\n".join(sentences)
    told = ((found.end(1), found.end()) for found in _told().finditer(whole))
    return [*told, *(found.span() for found in _quotes().finditer(whole.replace("\n", " ")))]


def as_own(quote: str) -> str:
    """Returns a quotation of a prompt as `own_sentences` would write it, on one line."""
    lines = quote.replace(CURLY, "'").splitlines()
    return " ".join(" ".join(_markers().sub("", line.strip()) for line in lines).split())


def _blocks(lines: list[str]) -> Iterator[str]:
    """Paragraphs of prose; a line that was wrapped is joined to the one before."""
    gathered: list[str] = []
    fence, foreign, logged, begun = "", "", False, False
    for line in [*lines, ""]:
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) else fence
            continue
        logged = bool(bare) and (logged or bool(_tracebacks().match(bare)))
        opened = _fences().match(bare)
        fence = opened[0][:3] if opened else ""
        if foreign == _PART and begun and not bare:
            foreign = ""
        begun = bool(foreign and bare)
        foreign = _REST if chat_labels().match(bare) else foreign
        left_out = bool(opened or logged or foreign or not bare) or _is_pasted(line)
        if gathered and (left_out or not _carried_on(gathered[-1], bare)):
            yield " ".join(gathered)
            gathered = []
        foreign = _REST if _headers().match(bare) else foreign
        if left_out:
            continue
        foreign = _foreign_after(without_quotes(bare))
        gathered.append(_markers().sub("", bare))


def _spoken(block: str) -> Iterator[str]:
    """The sentences of a block, without those of a quotation that has several."""
    spans = (found.span() for found in _quotes().finditer(block))
    quoted = [span for span in spans if len(block[slice(*span)].split()) >= _SPEECH]
    at = 0
    for part in _split(block):
        at = max(at, block.find(part, at))
        end = at + len(part)
        if all(end <= first or last <= at or at <= first < last <= end for first, last in quoted):
            yield part


def _foreign_after(line: str) -> str:
    """How much behind a line is somebody else's: the rest of the prompt, a part, or nothing."""
    found = _announces().search(line)
    if found is None:
        return ""
    return _REST if _texts().search(found[0]) else _PART


def _carried_on(before: str, line: str) -> bool:
    return (
        not before.endswith((".", "!", "?", ":", ";"))
        and len(before) >= _WRAPPED
        and (line[:1].islower() or before.endswith(","))
    )


def _is_pasted(line: str) -> bool:
    """True for a line of a log, a diff, code, a table or a quotation."""
    bare = line.strip()
    if _pasted().match(bare) or (line.startswith(("    ", "\t")) and _codelike().search(bare)):
        return True
    return len(_sign().findall(bare)) > _SIGNS * len(bare) or len(bare) > 20 * MAX_SENTENCE_CHARS


def _split(block: str) -> Iterator[str]:
    start = 0
    for found in _ends().finditer(block):
        words = block[max(start, found.start() - 20) : found.start()].split()
        last = words[-1].lstrip("([\"'").casefold() if words else ""
        if found[0].startswith(".") and (last in _SHORT or (last.isdigit() and len(words) == 1)):
            continue
        if sentence := block[start : found.end()].strip():
            yield sentence
        start = found.end()
    if rest := block[start:].strip():
        yield rest


def _without_markup(prompt: str) -> str:
    """Returns the prompt without blocks such as `<log>…</log>`, which hold what others wrote."""
    kept, place = [], 0
    closers = [
        (found[1].casefold(), found.start(), found.end())
        for found in re.finditer(r"</([a-z][\w-]{0,40})>", prompt, re.IGNORECASE)
    ]
    after: dict[str, list[tuple[int, int]]] = {}
    for name, start, end in reversed(closers):
        after.setdefault(name, []).append((start, end))
    for tag in _openers().finditer(prompt):
        places = after.get(tag[1].casefold(), [])
        while places and places[-1][0] < tag.end():
            places.pop()
        if places and tag.start() >= place:
            kept.append(prompt[place : tag.start()])
            place = places[-1][1]
    kept.append(prompt[place:])
    return "\n".join(kept)


# Pattern of a line with which a copied chat with a model begins: whose words follow is not known.
chat_labels = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:#{1,6}\s+)?[*_]{0,2}(?:(?:User|USER|Human|HUMAN|Assistant|ASSISTANT|ChatGPT|"
    r"\[(?i:user|human|assistant)\])(?:\s?\([^)\n]{1,20}\))?[*_]{0,2}\s?:|"
    r"(?:You|ChatGPT|Claude) said:|(?i:user|human|assistant)>\s)|"
    r"\s*#{1,6}\s+(?:User|Human|Assistant)\s*$"
)


_openers = lazy_pattern(r"<([a-z][\w-]{0,40})(?:\s[^<>\n]{0,200}+)?>", re.IGNORECASE)


_commands = lazy_pattern(r"/[\w:-]+(?:\s|$)|!\s*\S")


_fences = lazy_pattern(r"```|~~~")


_tracebacks = lazy_pattern(
    r"Traceback \(most recent|Exception in thread|panic: |goroutine \d|thread '\S+' panicked|"
    r"npm ERR!|Caused by: ",
)


# Pattern of the start of a line that its writer copied.
_pasted = lazy_pattern(
    r">|\||[$#%]\s\S|>>>|\.\.\.\s|@@ |[+-]{3} \S|diff --git|index [0-9a-f]{6,}|"
    r"[+-](?=\S)(?![-\d\s])|"  # a line of a diff
    r"(?:[A-Z], )?\[?\d{4}-\d\d-\d\d[T ,]|\[\d\d?:\d\d\]\s|"
    r"\[?\d\d:\d\d:\d\d|\w{3} +\d\d? \d\d:\d\d|\d{10,}\s|\[?(?:INFO|"
    r"WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\b[\]: ]|"
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning)\b\s*:|error(?:\[\w+\])?: |warning: |"
    r"fatal: |at \S+ ?\(|at [\w$.<>]+\(|File \"|[\w./-]+:\d+(?::\d+)?:\s|(?:From|To|Subject|"
    r"Date|Cc|Sent): \S|On .{5,80} wrote:|\S+@\S+:\S*[$#]|[{}\[\]();<>]+,?$|<\w|</|//|/\*|\*/|"
    r"--\s|import \w+[;.]|from \w\S* import |(?:def|class|function|const|let|var|public|"
    r"private|static|return|if|for|while)\b.*[{;:]$|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|"
    r"ALTER|DROP)\s",
)


_codelike = lazy_pattern(r"[=(){};<>\[\]]|^\S+$")


_sign = lazy_pattern(r"[^\w\s.,!?'`/\u00bf\u00a1-]")


# Pattern of a line after which somebody else's text follows, to the end of the prompt.
_announces = lazy_pattern(
    r"\b(?:says?|said|wrote|writes|posted|sent|mail|e-?mail|message|slack|docs?|documentation|"
    r"readme|wiki|page|article|text|paragraph|letter|review|comment|transcript|notes?|chat|"
    r"ticket|issue|answer|reply|response|quote|blog|post|spec|proposal|copy|draft|example|"
    r"summari[sz]e|translate|proofread|rewrite|rephrase|paraphrase|review|explain|shorten|"
    r"compare|analy[sz]e|parse|format|convert|turn|classify|\u00fcbersetze?|fasse|zusammen|"
    r"traduce|traduis|resume|r\u00e9sume)\b[^:]{0,80}:\s*$|^(?:please\s+|pls\s+|can you\s+|"
    r"could you\s+)*(?:summari[sz]e|translate|proofread|rewrite|rephrase|explain|review|"
    r"shorten|compare|analy[sz]e)\s+(?:this|these|that|the following)(?:\s+\w+){0,4}:?\s*$|"
    r"\b(?:the following|below|pasted?|forwarded)\b(?! (?:rules?|conventions?|setup|stack|"
    r"facts?|context|things?|constraints?))[^:]{0,40}:\s*$",
    re.IGNORECASE,
)


# Pattern of words for a text of several paragraphs.
_texts = lazy_pattern(
    r"\b(?:e?-?mail|message|page|article|text|paragraphs?|letter|blog|post|transcript|chat|"
    r"readme|wiki|docs?|documentation|summari[sz]e|translate|proofread|rewrite|rephrase|"
    r"paraphrase|shorten|\u00fcbersetze?|traduce|traduis)\b",
    re.IGNORECASE,
)


# Pattern of the first lines of a mail: what follows is its text.
_headers = lazy_pattern(r"(?:From|To|Subject|Cc|Sent): \S|On .{5,80} wrote:")


# Pattern of what stands in one line behind `the comment says:`.
_told = lazy_pattern(
    r"(\b(?:says?|said|saying|asked|wrote|reads|titled|slogan|slide|headline|banner|tooltip|"
    r"translate|commit (?:with|it|this)|(?:comment|e-?mail|message|like|say|write|"
    r"text)(?=:))\b[^:]{0,40}):\s.*",
    re.IGNORECASE,
)


# Pattern of the start of a list item.
_markers = lazy_pattern(r"^(?:[-*+\u2022]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)")


_ends = lazy_pattern(r"(?<![.!?\u2026])[.!?\u2026]++[\"'\u201d\u2019)\]\u00bb]*+(?=\s|$)")


_code = lazy_pattern(r"`[^`\n]{1,200}`")


_quotes = lazy_pattern(
    r"\"[^\"\n]{1,400}\"|(?<!\w)'[^'\n]{2,400}'(?!\w)|\u201c[^\u201d\n]{1,400}\u201d|"
    r"\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]|\u00ab[^\u00bb\n]{1,400}\u00bb|"
    r"\u2018[^\u2019\n]{2,400}\u2019(?!\w)"
)


# Which parts of a prompt may be repeated as its writer's word: plain sentences, or whole ones.
#
# `push to main` is no word of somebody who wrote `never push to main`, `should we push to main?` or
# `the page says: push to main`. A sentence with a negation, a condition, a question, a report or a
# quotation says what it says only as a whole; of any other a part may stand alone.


@dataclass(frozen=True, slots=True)
class SentencePiece:
    """One sentence: the words that open it, the rest, and whether the rest must stay whole."""

    opening: str
    text: str
    is_whole: bool


def pieces(prompt: str) -> Iterator[SentencePiece]:
    """Yields the sentences that the writer of a prompt wrote, without pasted texts, in order."""
    return map(_piece, own_sentences(prompt))


def _piece(sentence: str) -> SentencePiece:
    text = sentence
    while found := phrases.remembering().match(text) or phrases.openers().match(text):
        if not found.end():
            break
        text = text[found.end() :]
    plain = without_quotes(text)
    is_whole = (
        '""' in plain
        or asks(plain)
        or any(phrase.search(plain) for phrase in (_turns(), phrases.doubts(), phrases.reports()))
        or bool(phrases.questions().match(plain))
    )
    return SentencePiece(sentence[: len(sentence) - len(text)], text, is_whole)


# Pattern of words without which a sentence says something else.
_turns = lazy_pattern(
    r"\b(?:not|\w+n'?t|cannot|never|no|none|nothing|nobody|nowhere|neither|nor|without|except|"
    r"unless|until|only|hardly|instead|rather|avoid\w*|stop\w*|refus\w*|forb[aio]d\w*|wrong|"
    r"false|untrue|outdated|obsolete|deprecated|if|when|while|but|although|though|despite|"
    r"nicht|kein\w*|nie|niemals|ohne|au\u00dfer|nur|wenn|falls|aber|statt|falsch|nunca|sin|si|"
    r"excepto|salvo|solo|pero|cuando|falso|ne|pas|jamais|sans|sauf|seulement|mais|quand|faux)\b"
    r"|\bn'",
    re.IGNORECASE,
)
