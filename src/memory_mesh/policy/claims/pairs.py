"""Reads lines of a key and a value: `deploy day: Friday`, `MAX_RETRIES=3`."""

from memory_mesh.model import Claim
from memory_mesh.policy.claims import words
from memory_mesh.policy.claims.claim import ARTICLES, MAX_KEY, key
from memory_mesh.policy.claims.subjects import Voice, subject_of
from memory_mesh.policy.claims.values import identifying, qualified

_MAX_KEY_WORDS = 6
_MAX_VALUE_WORDS = 8
_MAX_VALUE = 80
_SHORTEST_NAME = 3  # `x = 5` is code, not a setting
_CODE = frozenset("()[]{};<>|&*")
_SPOKEN = frozenset(
    ("i", "we", "you", "he", "she", "they", "it", "is", "are", "was", "were", "do", "does", "will")
)


def pair(line: str, voice: Voice) -> Claim | None:
    """Reads the claim of a key and its value; None for a remark, a log line or code."""
    name, value, assigned = _split(line)
    if not name or not value or not _short(name, value, assigned=assigned):
        return None
    parts = name.split()
    who = subject_of(parts, voice)
    if who is None or "," in name:
        return None
    head = who.whole.rpartition(" ")[2] if not who.noun else who.head
    if head in words.NOTES or parts[0].casefold() in words.NOTES:
        return None
    if head in words.MANY or head.isdecimal() or parts[0].casefold() in words.OPENINGS:
        return None
    shown = identifying(value.split()) and not value[:1].isupper()
    built = len(parts) == 1 and (any(sign in name for sign in "_.-") or name.isupper())
    field = head in words.FIELDS and (who.whole == head or name.istitle())
    field = field or name.casefold() in words.RECORDED
    one = head in words.ONE and not field
    if len(parts) == 1 and name[:1].isupper() and not (head in words.ONE or built or shown):
        return None
    sure = one or (built and shown) or (shown and name.islower() and not field)
    sure = sure or (len(parts) > 1 and name.islower())
    sure = sure and not who.vague
    subject, predicate = (who.owner, who.noun) if who.noun else (who.whole, "is")
    if not subject or max(len(subject), len(predicate)) > MAX_KEY:
        return None
    said, where = qualified(value.split(), predicate)
    predicate = f"{predicate} {where}".rstrip()
    text = " ".join(said).strip("`\"'“”")
    if not text or head in words.FLEETING or len(predicate) > MAX_KEY:
        return None
    return Claim(
        subject=subject,
        predicate=predicate,
        value=text,
        certain=sure and not _is_bare(name),
        read=True,
    )


def _is_bare(name: str) -> bool:
    """True for one plain word: whose `port` it is, the line does not say."""
    return name.isalpha() and (name.islower() or name.isupper() or name.istitle())


def _split(line: str) -> tuple[str, str, bool]:
    """Splits a line into key, value, and whether an assignment sign joins them."""
    name, colon, value = line.partition(": ")
    if colon:
        return name.strip(), value.strip(), False
    name, sign, value = line.partition("=")
    name, value = name.strip(), value.strip()
    if sign and " " not in name and not value.startswith(("=", ">")) and name[:1].isalpha():
        return name, value, True
    return "", "", False


def _short(name: str, value: str, *, assigned: bool) -> bool:
    spoken = value.casefold().split()
    if len(spoken) > _MAX_VALUE_WORDS or len(value) > _MAX_VALUE or ": " in value:
        return False
    if not name[:1].isalpha() or "*" in name:  # an item of a list, not a line of its own
        return False
    if not _CODE.isdisjoint(value) or not _CODE.isdisjoint(name) or "," in value:
        return False
    if assigned:
        return len(name) >= _SHORTEST_NAME and name[-1] not in "!<>+-*/:" and len(spoken) == 1
    if not _SPOKEN.isdisjoint(spoken) or not _SPOKEN.isdisjoint(name.casefold().split()):
        return False
    return len(name.split()) <= _MAX_KEY_WORDS and key(name) not in ARTICLES
