"""Finds the base form of English verbs that tell what somebody did or should do.

The list holds verbs of technical work. A word with `-ed` that is not in it is taken apart by rule.
"""

import re
from functools import cache

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


_STRESSED_LAST_WORDS = (
    "admit commit defer emit omit permit prefer refer remap submit unpin unplug unset unwrap"
)
_STRESSED_LAST = frozenset(_STRESSED_LAST_WORDS.split())
