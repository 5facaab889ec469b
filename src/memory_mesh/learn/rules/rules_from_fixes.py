"""Draws a rule from the fix that a note tells of: `Pointed X at Y, green` gives `Point X at Y`.

The note must tell of the trouble first, and say that the change helped or why it was needed.
Recoveries (a restart, a rollback) and changes that made things worse are no fixes.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules import rule_phrases as phrases
from memory_mesh.learn.rules.instructions import base, gerund_base, is_base, past_base
from memory_mesh.learn.rules.note import Sentence

_MAX_REASON_CHARS = 240
_LINK_AT_END = r"(?<![,;:\s])[,;:\s]++(?:(?:so|and|then|but|because)\s*+)?$"
_REMARK = 3  # words of a last sentence that only comments
_NO_FIX_WORDS = (
    "ack acknowledge add-on agree announce appear arrive ask be become begin believe blame "
    "book break buy call catch cause celebrate change-over check-in click come commit complain "
    "contact crash debug decide deploy describe die discuss drop-out email end escalate expect "
    "experience fail fall feel file find finish fix follow forget freeze get go grow happen "
    "have hear hit hold hope inform investigate jump kill know learn leave log look lose mail "
    "meet mention merge message miss need note notice notify observe occur open page phone "
    "ping post press print propose push reach read realise realize reboot receive recover "
    "relaunch release reload remember remind reopen repeat report reproduce request rerun "
    "resolve restart restore retry return revert review roll rollback run say search see seem "
    "send show sit sleep solve spend stand start state stay stop struggle suggest take talk "
    "tell test thank think time touch trace track try turn-out type visit vote wait wake want "
    "watch wonder work wrap-up write"
)
_NO_FIX = frozenset(_NO_FIX_WORDS.split())
_FIXES_WORDS = "check clean clear commit deploy empty free read return run send take test write"
_FIXES = frozenset(_FIXES_WORDS.split())  # fixes only where the note says `now` or that it helped


_VAGUE_WORDS = (
    "he i it nobody nothing she somebody someone something that they this we what which you"
)
_VAGUE = frozenset(_VAGUE_WORDS.split())


@dataclass(frozen=True, slots=True)
class _Fix:
    place: int
    text: str
    helped: bool
    rest: str  # what the sentence says before the fix
    surely: bool = True  # the sentence itself says that it helped


def drawn_from(note: Sequence[Sentence], *, failed: bool) -> str:
    """Returns the rule that follows from the fix, or an empty text.

    If the memory is not marked as a failure, the words before the fix must tell of one.
    """
    if any(phrases.unsolved().search(one.plain) for one in note if not one.log):
        return ""
    fixes = [fix for place in range(len(note)) for fix in _fixes(place, note, failed=failed)]
    if not fixes:
        return _forgotten(note)
    helped = [fix for fix in fixes if fix.helped]
    surely = [fix for fix in helped if fix.surely]
    best = (surely or helped[-1:] or fixes[-1:])[0]
    reason = _reason(best, note)
    last = len(note) - 1 - (len(note) > 1 and len(note[-1].plain.split()) <= _REMARK)
    if not best.helped and (not reason or best.place < last):
        return ""
    told = " ".join(best.text.split()).rstrip(" .,;:-") + "."
    return f"{told} Why: {reason}." if reason else told


def _forgotten(note: Sequence[Sentence]) -> str:
    """Returns `Do not forget to run X` for `forgot to run X`."""
    for one in note:
        found = None if one.log else phrases.oversights().search(one.plain)
        if found and is_base(found["what"].split()[0]):
            what = one.text[found.start("what") : found.end("what")]
            return f"Do not forget to {re.split(r',|;', what)[0].rstrip(' .!')}."
    return ""


def _fixes(place: int, note: Sequence[Sentence], *, failed: bool) -> Iterator[_Fix]:
    """Yields the fix that a sentence tells of, if trouble was told before it."""
    sentence = note[place]
    if sentence.log or not sentence.plain.strip():
        return
    before = " ".join(one.plain for one in note[:place])
    follows = note[place + 1].plain if place + 1 < len(note) else ""
    troubled = failed or bool(phrases.troubles().search(before))
    fix = _cured(place, sentence)
    if fix is not None and (troubled or phrases.troubles().search(sentence.plain)):
        yield fix
        return
    for found in _changes().finditer(sentence.plain):
        fix = _change(place, sentence, found, follows)
        if fix is not None and (troubled or phrases.troubles().search(fix.rest)):
            yield fix
            return
    if place and troubled:
        yield from _told_shortly(place, sentence)


def _change(place: int, sentence: Sentence, found: re.Match[str], follows: str) -> _Fix | None:
    """Returns a change that helped or at least did no harm."""
    text = _changed(sentence, found)
    after = sentence.plain[found.end() :]
    own = bool(found["now"] or phrases.worked().search(after))
    helped = own or bool(phrases.worked().search(follows))
    if not text or (
        not helped
        and (
            bool(phrases.troubles().search(after) or phrases.troubles().search(follows))
            or base(found["verb"]) in _FIXES
        )
    ):
        return None
    return _Fix(place, text, helped, sentence.text[: found.start()], own)


def _told_shortly(place: int, sentence: Sentence) -> Iterator[_Fix]:
    """Yields what is done now, was put right, is only named, or is told without a subject."""
    if text := _kept_up(sentence):
        yield _Fix(place, text, helped=True, rest="")
    elif text := _righted(sentence):
        yield _Fix(place, text, helped=False, rest="")
    elif text := _named(sentence):
        yield _Fix(place, text, helped=True, rest="")
    elif _passives().match(sentence.plain):
        yield _Fix(place, _activated(sentence.text), helped=False, rest="")


def _righted(sentence: Sentence) -> str:
    """Returns `Make sure that the path is right` for `Fixed the path`."""
    found = _corrections().match(sentence.plain)
    if found is None:
        return ""
    what = sentence.text[found.start("what") : found.end("what")].strip()
    return f"Make sure that {what} {'are' if what.endswith('s') else 'is'} right"


def _named(sentence: Sentence) -> str:
    """Returns `Use X` for `X, and it works`: a fix that is only named."""
    found = _namings().match(sentence.plain)
    if found is None or phrases.finite().search(found["how"]) or _no_naming().search(found["how"]):
        return ""
    if not _states_effect(found["effect"]) or phrases.troubles().search(found["how"]):
        return ""
    return f"Use {_lowered(sentence.text[: found.end('how')].strip())}"


def _cured(place: int, sentence: Sentence) -> _Fix | None:
    """Returns the fix that a sentence names as one: `fixed by …`, `… solved it`."""
    for pattern in (phrases.cures(), _by_doing()):
        found = pattern.search(sentence.plain)
        text = _as_order(sentence.text[found.start("how") : found.end("how")]) if found else ""
        if found and text:
            told = sentence.text[: found.start()]
            return _Fix(place, _without_effect(text), helped=True, rest=told)
    found = phrases.helpers().match(sentence.plain)
    if found is None:
        return None
    group = "how" if found["how"] else "with"
    what = sentence.text[found.start(group) : found.end(group)].strip(" .")
    if _first_word(what).casefold() in _VAGUE:
        return None
    return _Fix(place, _as_order(what) or f"Use {_lowered(what)}", helped=True, rest="")


def _kept_up(sentence: Sentence) -> str:
    """Returns `Strip X before Y` for `We strip X before Y now`."""
    found = _nowadays().match(sentence.plain)
    if found is None or _only_works().search(sentence.plain[: found.end()]):
        return ""
    start, end = found.span("now")
    if found["doing"]:
        return _without_effect(
            _as_order(f"{sentence.text[:start].rstrip()}{sentence.text[end:]}")
        ).strip(" .!")
    if found["verb2"] and not base(found["verb2"]):
        return ""
    text = _without_effect(f"{sentence.text[:start].rstrip()}{sentence.text[end:]}").strip(" .!")
    if found["who"]:
        verb = found["verb"]
        if not is_base(verb) or verb.casefold() in _NO_FIX - {
            "wait",
            "run",
            "check",
            "test",
            "read",
            "write",
        }:
            return ""
        return f"{verb.capitalize()}{text[found.end('verb') :]}"
    return f"Make sure that {_lowered(text)}"


def _changed(sentence: Sentence, found: re.Match[str]) -> str:
    """Returns the change in the imperative, or an empty text if it is none."""
    word = found["verb"].casefold()
    verb = past_base(word)
    if found["now"] and not verb:
        verb = base(word)
    if not verb or (
        verb in _NO_FIX and not (found["now"] and verb in _FIXES) and verb not in _FIXES
    ):
        return ""
    if not found["who"] and not found["now"] and not base(word) and found.start():
        return ""  # an unknown verb in the middle of a sentence
    rest = _without_effect(sentence.text[found.end() :])
    return "" if len(rest.split()) < 1 else _in_imperative(f"{verb.capitalize()}{rest}")


def _lowered(text: str) -> str:
    """Returns the text without a capital at its start, unless the word is in capitals."""
    begins = text[1:2].islower() or text[:2] == "A "
    return f"{text[:1].lower()}{text[1:]}" if begins else text


def _as_order(text: str) -> str:
    """Returns `adding X`, `to add X` or `added X` as `Add X`; an empty text for anything else."""
    plain = text.strip()
    plain = re.sub(r"^(?:to|by|we|i|simply|just)\s+", "", plain, flags=re.IGNORECASE)
    words = plain.split(maxsplit=1)
    if not words:
        return ""
    verb = gerund_base(words[0]) or (words[0] if is_base(words[0]) else past_base(words[0]))
    if not verb and words[0].casefold().endswith("ing"):
        return ""
    rest = f" {words[1]}" if len(words) > 1 else ""
    if verb:
        return _in_imperative(f"{verb.capitalize()}{rest}") if rest else ""
    if words[0].casefold() in {"a", "an", "the"} and rest:
        return f"Use {plain[:1].lower()}{plain[1:]}"
    return ""


def _in_imperative(text: str) -> str:
    """Puts the further verbs of a change into the imperative too: `Add X and moved Y`."""

    def plain(found: re.Match[str]) -> str:
        verb = past_base(found["verb"])
        known = base(found["verb"]) == verb and verb not in _NO_FIX
        return f"{found['joint']}{verb}" if verb and known else found[0]

    return _further().sub(plain, text)


def _without_effect(text: str) -> str:
    """Cuts what the change led to: `, green`, `and the queue drained`."""
    for found in _effects().finditer(text):
        piece = re.split(r"[,;]|\sand\s", text[found.end() :], maxsplit=1)[0]
        verb = base(_first_word(piece))
        goes_on = verb and verb not in _NO_FIX and not phrases.worked().match(piece)
        if not goes_on and _states_effect(piece):
            return text[: found.start()]
    return text


def _states_effect(rest: str) -> bool:
    found = phrases.worked().search(rest)
    return found is not None and len(rest[: found.start()].split()) <= 6  # noqa: PLR2004


def _activated(text: str) -> str:
    """Returns `Key revoked, file ignored` as `Revoke key, ignore file`."""
    parts = []
    for piece in re.split(r",\s++(?:and\s++)?|(?<!\s)\s++and\s++", text.rstrip(" .!")):
        words = piece.split()
        verb = past_base(words[-1]) if words else ""
        if not verb or len(words) < 2:  # noqa: PLR2004
            break
        what = words[:-1]
        what[0] = what[0] if what[0].isupper() else what[0][:1].lower() + what[0][1:]
        parts.append(" ".join([verb, *what]))
    told = ", ".join(parts)
    return told[:1].upper() + told[1:]


def _reason(best: _Fix, note: Sequence[Sentence]) -> str:
    """Returns why: the start of the sentence of the fix, else the nearest statement before it."""
    own = re.sub(_LINK_AT_END, "", best.rest).strip(" ,;:-")
    if len(own.split()) >= 4 and not phrases.cures().search(own):  # noqa: PLR2004
        return _told(own)
    for one in reversed(note[: best.place]):
        if not one.log and len(one.plain.split()) >= 3:  # noqa: PLR2004
            return _told(one.text)
    return _told(next((one.text for one in note[: best.place] if one.log), ""))


def _told(text: str) -> str:
    plain = " ".join(text.split()).rstrip(" .,;:!")
    return plain if len(plain) <= _MAX_REASON_CHARS else f"{plain[:_MAX_REASON_CHARS].rstrip()}…"


def _first_word(text: str) -> str:
    found = re.match(r"\s*(?:(?:i|we|then|also)\s+)*([A-Za-z-]+)", text)
    return found[1] if found else ""


@cache
def _changes() -> re.Pattern[str]:
    who = r"(?:i|we|(?-i:(?!\w+ed\b)[A-Z][a-z]+(?:\s+and\s+(?:I|[A-Z][a-z]+))?)(?=\s+\w+ed\b))"
    adverbs = (
        r"then|finally|just|simply|also|have|has|had|eventually|ended\s+up|since|therefore|thus"
    )
    return re.compile(
        rf"(?:^|[;:—–]\s+|\s-+\s+|,\s+(?:(?:so|and|then|but)\s+)*|\b(?:so|and|then|until)\s+)"  # noqa: RUF001
        rf"(?:(?P<early>now)\s+)?(?:(?P<who>{who}(?:'ve|"
        rf"'d)?)\s+)?(?:(?:{adverbs})\s+)*(?:(?P<now>now)\s+)?"
        r"(?P<verb>[A-Za-z]+(?:-[a-z]+)*)\b(?=\s)",
        re.IGNORECASE,
    )


_by_doing = lazy_pattern(
    r"^(?:(?:i|we)\s+)?(?:broke\s+the\s+(?:cycle|loop|tie|deadlock|dependency)|avoided|"
    r"prevented|got\s+rid|worked\s+around|eliminated|stopped|dealt|handled|"
    r"unblocked|tamed|cut|reduced|halved|cleared|repaired|recovered|"
    r"sped)\b[^.;:]{0,50}?\sby\s+(?P<how>\w+ing\b[^\n]*)",
    re.IGNORECASE,
)


@cache
def _nowadays() -> re.Pattern[str]:
    now = r"(?<!from\s)(?P<now>now|these\s+days|nowadays)\b(?!\s+(?:that|and\s+then))"
    thing = r"(?!(?:it|this|that|they|there|everything|all\s+is|so|and|but)\b)"
    return re.compile(
        rf"(?:(?P<who>we|i)\s+(?P<verb>[a-z-]+)\s[^,;]{{3,120}}?\s+|"
        rf"(?P<doing>[a-z]+ing)\s[^,;]{{3,100}}?\s+|"
        rf"{thing}[^,;]{{3,60}}?\s(?:is|are)\s+(?:\w+ly\s+)?[a-z]+(?:ed|en|set|put|"
        rf"built)\b[^,;]{{0,60}}?\s+|"
        rf"{thing}[^,;]{{3,60}}?\s(?:go|goes|use|uses|have|get|gets|live|lives|come|comes|carry|"
        rf"carries|need|needs|sit|sits)\s"
        rf"[^,;]{{2,60}}?\s+|{thing}(?:[\w`'/.-]+\s+){{1,6}}?(?=now\s+(?P<verb2>[a-z]+)\b)){now}",
        re.IGNORECASE,
    )


_corrections = lazy_pattern(
    r"(?:(?:i|we)\s+)?(?:fixed|corrected|repaired|adjusted)\s+(?!(?:it|that|this|them|by|with|up|in|"
    r"(?:the|a|that|this)\s+(?:bugs?|issues?|problems?|errors?|tests?|build|failures?))\b)"
    r"(?P<what>[^,;.]{3,60}?)(?:\s*[.!]|,|;|\s+and\b|$)",
    re.IGNORECASE,
)


_namings = lazy_pattern(
    r"(?P<how>[^,;]{5,100}?)(?:,|\s+and|\s*->|\s*→|\s*=>)\s+(?:(?:and|then|now)\s+)*"
    r"(?P<effect>(?:it|they|that|all|everything|the\s+\w+|zero|no|down|\w+)\b[^,;]*)$",
    re.IGNORECASE,
)


# Pattern of what is no means: a time, an attempt, a person.
_no_naming = lazy_pattern(
    r"^(?:it|that|this|they|he|she|we|i|you|there|so|but|and|then|now|ok|well|after|since|until|"
    r"when|if|because|first|second|third|one|two|three|\d\S*|in|on|at|for|from|by|not|all|both|"
    r"everyone|everybody|everything|nothing|nobody|thanks|sorry|next|another|same|only|still|also|"
    r"yes|no|maybe|my|your|his|her|their)\b"
    r"|\b(?:re-?start\w*|reboot\w*|retr(?:y|ie)\w*|re-?r[au]n\w*|later|again|minutes?|hours?|days?|"
    r"weeks?|attempts?|tries|luck|rollback|reverted|reported|ticket|meeting|called?|asked)\b",
    re.IGNORECASE,
)


_only_works = lazy_pattern(
    r"\b(?:works?|pass(?:es)?|loads?|starts?|takes?|fails?|shows?|returns?|boots?|succeeds?|"
    r"finish(?:es)?|looks?|seems?|feels?|fixed|solved|resolved|broken|closed|gone|done|"
    r"finished|green|fine|know|knows|have|has|blocked|stuck|delayed)\b",
    re.IGNORECASE,
)


_further = lazy_pattern(
    r"(?P<joint>(?:,\s+(?:and\s+|then\s+)?|\s(?:and|then)\s+)(?:(?:i|we|then|"
    r"also)\s+)*)(?P<verb>[a-z]+(?:-[a-z]+)*)\b"
)


_effects = lazy_pattern(
    r"(?:[,;]|(?:(?<!\s)\s++)?+(?:—|–|→|->)|(?<!\s)\s++(?:-++|and|\())\s++",  # noqa: RUF001
    re.IGNORECASE,
)


_passives = lazy_pattern(
    r"(?:[\w.`/-]++\s++){1,4}[a-z]+(?:ed|ten|en|set|"
    r"put)(?:,\s++(?:and\s++)?+(?:[\w.`/-]++\s++){1,4}[a-z]+(?:ed|ten|en|set|put))+\s*[.!]*$"
)
