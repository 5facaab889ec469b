"""Reads one clause of a note as an instruction, in the imperative where that can be said.

Each reader returns the instruction and how plainly it is one, or None.
"""

import re
from functools import cache
from itertools import pairwise

from memory_mesh.policy.learning import rule_phrases as phrases
from memory_mesh.policy.learning.verbs import base, gerund_base, is_base, past_base

ANNOUNCED, STRONG, DUTY, ORDER, NEED = 5, 4, 3, 2, 1  # how plainly a sentence is a rule
ENOUGH_WORDS = 3
_EVERYBODY = frozenset(("", "i", "we", "you", "one", "everyone", "everybody", "people", "all"))
_NOUNS_WORDS = (
    "back backup base batch block boot build cache change check checkout code commit count "
    "deploy dump export file filter fix flag fork format hash hook host image import index "
    "label limit link list load lock log login map match merge order page patch plan pool port "
    "post probe process query queue record release report request restart retry review run "
    "sample scope search seed shard share ship source split stage state store stream switch "
    "sync tag target test time trace track type update upgrade upload version watch work"
)
_NOUNS = frozenset(_NOUNS_WORDS.split())
_NO_ORDER_AFTER_WORDS = (
    "a an and any all are be been by can cannot could did do does doesn't don't each every for "
    "from had has have he her his i in into is it its may might more must my no not of on or our "
    "she should that the their them these they this those to was we were which who will with "
    "would you your"
)
_NO_ORDER_AFTER = frozenset(_NO_ORDER_AFTER_WORDS.split())
_DETERMINERS_WORDS = (
    "a all an any anything both each every everything fewer it its less more my no nothing one "
    "only our such that the their them these this those your"
)
_DETERMINERS = frozenset(_DETERMINERS_WORDS.split())
_NOT_DONE = frozenset(("be", "expect", "get", "guess", "have", "hear", "know", "notice", "see"))
_VERIFYING = frozenset(("check", "verify", "ensure", "confirm", "make", "see", "assert", "test"))


def instruction(text: str, plain: str, *, first: bool = False) -> tuple[str, int] | None:
    """Returns a clause as an instruction, with how plainly it is one; `first` opens the note."""
    opener = phrases.openers().match(plain)
    if opener:
        text, plain = text[opener.end() :], plain[opener.end() :]
    strong = phrases.strong().match(plain)
    if strong:
        return (capitalized(text), STRONG) if _is_ordered(strong[0]) else None
    regret = phrases.regrets().match(plain) or phrases.wishes().match(plain)
    if regret:
        done = _regretted(text, regret)
        return (done, DUTY) if done else None
    if phrases.errands().search(plain):
        return None
    condition = phrases.conditions().match(plain)
    if condition:
        told = instruction(text[condition.end() :], plain[condition.end() :])
        if told is not None:
            return f"{capitalized(text[: condition.end()])} {uncapitalized(told[0])}", told[1]
    return (
        _must(text, plain)
        or _duty(text, plain)
        or _order(text, plain, first=first)
        or _late_order(text, plain)
        or _need(text, plain)
    )


def announced_rule(text: str, plain: str) -> tuple[str, int] | None:
    """Returns the rule after `lesson:` or `next time`, or before `from now on`."""
    announced = phrases.announcements().match(plain)
    if announced:
        text, plain = text[announced.end() :], plain[announced.end() :]
    trailing = phrases.trailing().search(plain)
    if trailing:
        text, plain = text[: trailing.start()], plain[: trailing.start()]
    if (
        not (announced or trailing)
        or not _says_enough(plain)
        or phrases.expectations().match(plain)
    ):
        return None
    told = instruction(text, plain) or _intended(text, plain)
    if told is None and trailing and not announced and _told_past().search(plain):
        return None
    return (told[0] if told else _demanded(text, plain)), ANNOUNCED


def _intended(text: str, plain: str) -> tuple[str, int] | None:
    """Returns `Check X` for the announced `I will check X` and `we check X`."""
    found = re.match(
        r"(?:i|we|you)(?:'ll|\s+will|\s+am\s+going\s+to|\s+are\s+going\s+to|"
        r"'m\s+going\s+to)?\s+(?:(?:always|first|only|just)\s+)?"
        r"(?P<not>never\s+|won't\s+|not\s+|don't\s+)?(?P<verb>[a-z-]+)\b",
        plain,
        re.IGNORECASE,
    )
    if found is None or not is_base(found["verb"]):
        return None
    told = text[found.start("verb") :]
    return (f"Do not {told}" if found["not"] else capitalized(told)), ANNOUNCED


def _must(text: str, plain: str) -> tuple[str, int] | None:
    """Returns `Use X` for `X is a must`, and `Check X` for `checking X is a must`."""
    found = phrases.musts().match(plain)
    if found is None or found["what"].casefold() in _POINTING:
        return None
    words = text[: found.end("what")].split(maxsplit=1)
    verb = gerund_base(words[0])
    if verb and len(words) > 1:
        return f"{verb.capitalize()} {words[1]}", DUTY
    return f"Use {uncapitalized(' '.join(words))}", DUTY


def _late_order(text: str, plain: str) -> tuple[str, int] | None:
    """Returns `Before an upgrade compare X`: an order after a condition without a comma."""
    words = plain.split()
    if not _condition_words().match(plain) or phrases.finite().search(plain):
        return None
    for place in range(ENOUGH_WORDS, min(len(words) - 1, 10)):
        word, before = words[place].casefold(), words[place - 1].casefold()
        if "," in before:
            return None
        if is_base(word) and word not in _NOUNS and before not in _NO_ORDER_AFTER:
            return capitalized(text), ORDER
    return None


def _is_ordered(start: str) -> bool:
    """False for `never saw` and `always fails`, which tell instead of ordering."""
    words = start.split()
    if words[0].casefold() not in {"always", "never"}:
        return True
    word = words[1].casefold()
    if is_base(word):
        return True
    return not past_base(word) and not base(word) and not word.endswith(("ly", "ing", "ful", "ous"))


def _duty(text: str, plain: str) -> tuple[str, int] | None:
    """Returns what somebody or something must do: `you have to …`, `maps must be guarded`."""
    found = phrases.duties().match(plain)
    if found is None or phrases.expectations().match(found["rest"]):
        return None
    who = text[found.start("who") : found.end("who")].strip()
    words = who.split()
    last = words[-1].casefold() if words else ""
    if last not in _EVERYBODY:
        wants = "want" in found["modal"].casefold()
        return (capitalized(text), DUTY) if not wants and _is_thing(who, found["modal"]) else None
    before = " ".join(words[:-1])
    if before and not _condition_words().match(before):
        return None
    if found["modal"].casefold().endswith(("want to", "wants to")) and last != "you":
        return None
    if last == "i" and not found["modal"].casefold().startswith(
        ("should", "must", "shall", "ought")
    ):
        return None
    modal, rest = found["modal"].casefold(), text[found.start("rest") :].strip()
    if not is_base(_word(rest)) and not base(_word(rest)) and not rest[:1].isalpha():
        return None
    denied = bool(found["not"]) or modal.endswith("n't") or modal in {"may not", "may never"}
    told = f"Do not {rest}" if denied else capitalized(rest)
    return (f"{capitalized(before)}, {uncapitalized(told)}" if before else told), DUTY


def _order(text: str, plain: str, *, first: bool) -> tuple[str, int] | None:
    """Returns a clause that begins with a verb in the imperative."""
    plain = re.sub(r"^double\s+check", "double-check", plain, flags=re.IGNORECASE)
    words = plain.split()
    verb = _word(plain)
    if len(words) < ENOUGH_WORDS or not is_base(verb) or not re.match(r"[\w-]+(?=\s)", plain):
        return None
    if past_base(verb) == verb and phrases.worked().search(plain):
        return None  # `put X in front, quiet since` tells of a fix
    second = words[1].strip(".,:;`").casefold()
    told = past_base(second) or (second.endswith(("s", "ing")) and base(second))
    if verb in _NOUNS and second not in _DETERMINERS and (first or told):
        return None
    main = _subordinate().split(plain, maxsplit=1)[0]
    if verb not in _VERIFYING and phrases.finite().search(main):
        return None
    return capitalized(text), ORDER


def _need(text: str, plain: str) -> tuple[str, int] | None:
    """Returns a statement that something needs or belongs somewhere."""
    found = phrases.needs().match(plain)
    if found is None:
        return None
    who = found["who"].strip().casefold()
    if who in {"it", "this", "that", "he", "she", "they", "i", "we", "you"} or who.endswith(
        "still"
    ):
        return None
    return capitalized(text), NEED


def _regretted(text: str, regret: re.Match[str]) -> str:
    """Returns `Check X` for `I should have checked X`."""
    verb = past_base(regret["verb"]) or base(regret["verb"])
    if not verb or verb in _NOT_DONE:
        return ""
    rest = text[regret.end() :].rstrip()
    if regret["not"] or regret.groupdict().get("never"):
        return f"Do not {verb}{rest}"
    return f"{verb.capitalize()}{rest}"


def _demanded(text: str, plain: str) -> str:
    """Returns an announced statement as an instruction."""
    if _bound().search(plain):
        return capitalized(text)
    words = text.split(maxsplit=1)
    verb = past_base(words[0])
    if base(words[0]) and words[0].casefold().endswith("ing"):
        rest = words[1] if len(words) > 1 else ""
        return f"{base(words[0]).capitalize()} {rest}"
    if verb and not is_base(words[0]) and len(words) > 1:
        return f"{verb.capitalize()} {words[1]}"
    if re.match(r"(?:no|nobody|nothing|no\s+one)\s", plain, re.IGNORECASE) or not _is_statement(
        plain
    ):
        return capitalized(text)
    return f"Make sure that {uncapitalized(text)}"


def _is_statement(plain: str) -> bool:
    """True if one of the first words after the subject is a verb in the present or past."""
    words = [word.strip(".,:;()").casefold() for word in plain.split()[:10]]
    return bool(phrases.finite().search(plain)) or any(
        (base(word) and word.endswith("s")) or (is_base(word) and before.endswith("s"))
        for before, word in pairwise(words)
    )


def _is_thing(who: str, modal: str) -> bool:
    """True for a subject that can have a duty: a thing, not `it` or a person by name."""
    words = who.split()
    if words[0].casefold() in _POINTING and len(words) == 1:
        return False
    named = len(words) == 1 and words[0].istitle() and not words[0].endswith("s")
    if named and not modal.casefold().startswith("must"):
        return False
    return not phrases.finite().search(who) and not _reports().search(who)


def _says_enough(plain: str) -> bool:
    return len(plain.split()) >= ENOUGH_WORDS


def _word(plain: str) -> str:
    found = re.match(r"\s*([A-Za-z]+(?:-[a-z]+)*)", plain)
    return found[1].casefold() if found else ""


def capitalized(text: str) -> str:
    """Returns the text with a capital at its start."""
    plain = text.strip()
    return plain[:1].upper() + plain[1:]


def uncapitalized(text: str) -> str:
    """Returns the text to follow other words: without a capital, unless the word is in capitals."""
    plain = text.strip()
    word = plain.split(maxsplit=1)[0] if plain else ""
    return plain if word.isupper() and len(word) > 1 else plain[:1].lower() + plain[1:]


_POINTING = frozenset(
    ("it", "this", "that", "he", "she", "they", "there", "which", "these", "those")
)


@cache
def _condition_words() -> re.Pattern[str]:
    return re.compile(
        r"(?:if|when|whenever|before|after|once|unless|until|while|for|with|on|in|inside|within|"
        r"as\s+soon\s+as|"
        r"every\s+time|any\s+time|next\s+time|instead\s+of|on\s+each|so|and|then|now|here|there)\b",
        re.IGNORECASE,
    )


@cache
def _subordinate() -> re.Pattern[str]:
    return re.compile(
        r"[,;(]|:\s|\s(?:that|which|who|whose|because|since|if|when|whenever|before|after|so|"
        r"where|until|unless|while|"
        r"whether|what|how|as|even|instead|rather|or|and|once|in\s+case|otherwise|but)\s",
        re.IGNORECASE,
    )


@cache
def _bound() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:must|should|shall|needs?|has\s+to|have\s+to|always|never|may\s+only|only|belongs?|"
        r"requires?)\b",
        re.IGNORECASE,
    )


@cache
def _reports() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:said|says|thinks?|thought|told|asked|wants?|wanted|believes?|argued|feels?|"
        r"hopes?)\b",
        re.IGNORECASE,
    )


@cache
def _told_past() -> re.Pattern[str]:
    return re.compile(r"\b(?:was|were|had|went|got|kept|ran|broke|took|came|lost)\b", re.IGNORECASE)


@cache
def events() -> re.Pattern[str]:
    """Pattern of verbs that tell what happened."""
    return re.compile(
        r"\b(?:was|were|had|went|got|kept|ran|broke|took|came|lost|sent|made|found|\w{3,}ed)\b",
        re.IGNORECASE,
    )
