"""Reads one clause of a note as an instruction, in the imperative where that can be said.

Each reader returns the instruction and how plainly it is one, or None.
"""

import re
from functools import cache
from itertools import pairwise

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.learn.rules import rule_phrases as phrases

_REGULAR = (
    "abort accept acknowledge ack activate adapt add adjust adopt alert align allocate allow alter "
    "analyse analyze anchor announce anonymise anonymize annotate append apply approve archive "
    "arrange ask assert assign attach audit authenticate authorise authorize automate avoid await "
    "back backfill balance ban base batch benchmark block book boot bounce bump bundle cache call "
    "cancel cap capture cast catch change check checkout clamp clean clear click clone close code "
    "collect combine commit compare compile compress compute configure confirm connect consult "
    "contact convert copy correct count cover crawl create cross-check dedupe deduplicate "
    "debounce declare decode decommission decrease decrypt default defer define delay delete "
    "demote deny deploy deprecate derive describe detach detect disable disconnect dismiss "
    "dispatch dispose distribute divide document double-check download draft drain drop dump "
    "duplicate edit eject email emit empty enable encode encrypt enforce enlarge ensure enter "
    "erase escalate escape estimate evaluate examine exclude execute exit expand expect expire "
    "export expose extend extract factor fail favor favour fetch file fill filter finish fix flag "
    "flatten flip flush follow force fork format forward free gate gather generate grant group "
    "guard gzip halt handle hand hardcode hash highlight hold hook host identify ignore implement "
    "import include increase increment index inform initialise initialize inject inline insert "
    "inspect install instrument introduce invalidate invert invite invoke isolate join keep kill "
    "label launch leave limit link lint list load localise lock log login look loosen lower "
    "mail make manage map mark mask match measure memoize memoise merge migrate minify mirror mock "
    "modify monitor mount move multiply mute name narrow nest normalise normalize note notify "
    "number obtain offload omit open optimise optimize order organise organize output overwrite "
    "own pack package pad page paginate parallelise parallelize parameterise parameterize parse "
    "partition pass paste patch pause peel perform pin ping plan plug point poll populate pool "
    "port post postpone prefer prefetch prefix preload prepare prepend press prevent preview print "
    "prioritise prioritize probe process prohibit promote prompt protect prove provide provision "
    "prune publish pull purge push query queue quit quote raise randomise randomize rate re-add "
    "re-enable re-index re-run re-test reach rebase reboot rebuild recalculate recheck recompile "
    "record recover recreate recycle redact redeploy redirect reduce refactor refer reference "
    "refill refresh register regenerate reindex reject relax release reload relocate rely remap "
    "remember remind remove rename render renew reorder repair repeat replace replay replicate "
    "report repository request require reserve resize resolve respect restart restore restrict "
    "retain retire retrain retry return reuse revalidate reverse revert review revise revoke roll "
    "rotate round route sample sanitise sanitize save scale scan schedule scope screen scrub seal "
    "search seed select separate serialise serialize serve share shard ship shorten show shrink "
    "shuffle sign silence simplify skip slice smoke-test sort source specify split squash stage "
    "standardise start stash state stop store stream strengthen strip stub subclass submit "
    "subscribe substitute subtract supply support suppress surround suspend swap switch sync "
    "synchronise synchronize tag talk target terminate test throttle throw tidy tighten time "
    "toggle touch trace track train transfer transform translate treat trigger trim truncate trust "
    "try tune turn type uncordon cordon undo unify uninstall unlock unpack unpin unset unsubscribe "
    "unwrap update upgrade upload upsert use validate verify version virtualise virtualize visit "
    "vacuum wait walk warm warn watch whitelist widen wipe wire wrap zip"
)
_IRREGULAR = {
    "be": "was been", "begin": "began begun", "bind": "bound", "break": "broke broken",
    "bring": "brought", "build": "built", "buy": "bought", "catch": "caught",
    "choose": "chose chosen", "come": "came", "cut": "cut", "do": "did done",
    "draw": "drew drawn", "feed": "fed", "find": "found", "forget": "forgot forgotten",
    "freeze": "froze frozen", "get": "got gotten", "give": "gave given", "go": "went gone",
    "hide": "hid hidden", "hold": "held", "keep": "kept", "know": "knew known", "lay": "laid",
    "leave": "left", "let": "let", "make": "made", "meet": "met", "override": "overrode overridden",
    "overwrite": "overwrote overwritten", "pay": "paid", "put": "put", "quit": "quit",
    "read": "read", "rebuild": "rebuilt", "redo": "redid redone", "reread": "reread",
    "rerun": "reran rerun", "reset": "reset", "rewrite": "rewrote rewritten", "run": "ran run",
    "see": "saw seen", "sell": "sold", "send": "sent", "set": "set", "shrink": "shrank shrunk",
    "shut": "shut", "split": "split", "spread": "spread", "stick": "stuck", "take": "took taken",
    "tell": "told", "think": "thought", "throw": "threw thrown", "undo": "undid undone",
    "wind": "wound", "withdraw": "withdrew withdrawn", "write": "wrote written",
}  # fmt: skip
_DOUBLED = re.compile(r"[^aeiou][aeiou][bdgklmnprtv]$")  # drop: dropped, dropping
_SILENT = re.compile(r"(?:at|bl|[bcdfghjklmnpqrstvwxyz]l|iz|is|ur|[^e]ir|c|v|s|g|u|[aeiou]k)$")
_STRESSED_LAST_WORDS = (
    "admit commit defer emit omit permit prefer refer remap submit unpin unplug unset unwrap"
)
_STRESSED_LAST = frozenset(_STRESSED_LAST_WORDS.split())

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
        or len(plain.split()) < ENOUGH_WORDS
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
    return is_base(word) or (
        not past_base(word) and not base(word) and not word.endswith(("ly", "ing", "ful", "ous"))
    )


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
    return (
        not (named and not modal.casefold().startswith("must"))
        and not phrases.finite().search(who)
        and not _reports().search(who)
    )


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


_condition_words = lazy_pattern(
    r"(?:if|when|whenever|before|after|once|unless|until|while|for|with|on|in|inside|within|"
    r"as\s+soon\s+as|"
    r"every\s+time|any\s+time|next\s+time|instead\s+of|on\s+each|so|and|then|now|here|there)\b",
    re.IGNORECASE,
)


_subordinate = lazy_pattern(
    r"[,;(]|:\s|\s(?:that|which|who|whose|because|since|if|when|whenever|before|after|so|"
    r"where|until|unless|while|"
    r"whether|what|how|as|even|instead|rather|or|and|once|in\s+case|otherwise|but)\s",
    re.IGNORECASE,
)


_bound = lazy_pattern(
    r"\b(?:must|should|shall|needs?|has\s+to|have\s+to|always|never|may\s+only|only|belongs?|"
    r"requires?)\b",
    re.IGNORECASE,
)


_reports = lazy_pattern(
    r"\b(?:said|says|thinks?|thought|told|asked|wants?|wanted|believes?|argued|feels?|"
    r"hopes?)\b",
    re.IGNORECASE,
)


_told_past = lazy_pattern(
    r"\b(?:was|were|had|went|got|kept|ran|broke|took|came|lost)\b", re.IGNORECASE
)


# Verbs that tell what happened.
events = lazy_pattern(
    r"\b(?:was|were|had|went|got|kept|ran|broke|took|came|lost|sent|made|found|\w{3,}ed)\b",
    re.IGNORECASE,
)


# Finds the base form of English verbs that tell what somebody did or should do.
#
# The list holds verbs of technical work. A word with `-ed` that is not in it is taken apart by
# rule.


def base(word: str) -> str:
    """Returns the base form of a known verb in any form, or an empty text."""
    return _forms().get(word.casefold(), "")


def past_base(word: str) -> str:
    """Returns the base form of a verb in the past, known or not, or an empty text."""
    plain = word.casefold()
    known = _past().get(plain)
    if known is not None:
        return known
    if not re.fullmatch(r"[a-z]+(?:-[a-z]+)?ed", plain) or plain.endswith("eed"):
        return ""
    stem = plain[:-2]
    if len(stem) < 3 or not re.search(r"[aeiouy]", stem):  # noqa: PLR2004
        return ""
    if stem.endswith("i"):
        return f"{stem[:-1]}y"
    if stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    return f"{stem}e" if _SILENT.search(stem) and not stem.endswith(("ss", "ng")) else stem


def is_base(word: str) -> bool:
    """True for the base form of a known verb."""
    return word.casefold() in _bases()


def gerund_base(word: str) -> str:
    """Returns the base form of a known verb with `-ing`, or an empty text."""
    plain = word.casefold()
    return _forms().get(plain, "") if plain.endswith("ing") else ""


@cache
def _bases() -> frozenset[str]:
    return frozenset((*_REGULAR.split(), *_IRREGULAR))


@cache
def _past() -> dict[str, str]:
    irregular = {form: verb for verb, forms in _IRREGULAR.items() for form in forms.split()}
    regular = {_ended(verb, "ed"): verb for verb in _REGULAR.split() if verb not in _IRREGULAR}
    return {**regular, **irregular}


@cache
def _forms() -> dict[str, str]:
    present = {_third(verb): verb for verb in _bases()}
    gerunds = {_ended(verb, "ing"): verb for verb in _bases()}
    return {**present, **gerunds, **_past(), **{verb: verb for verb in _bases()}}


def _ended(verb: str, ending: str) -> str:
    """Returns the verb with `-ed` or `-ing`."""
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "be")):
        return verb[:-1] + ending
    if verb.endswith("y") and verb[-2] not in "aeiou" and ending == "ed":
        return f"{verb[:-1]}ied"
    one_syllable = len(re.findall(r"[aeiouy]+", verb)) == 1
    if _DOUBLED.search(verb) and (one_syllable or verb in _STRESSED_LAST):
        return verb + verb[-1] + ending
    return verb + ending


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"
