"""Patterns of English phrases that decide, correct, promise, ask or state.

Each is a table of words in one expression; a curly apostrophe is written straight before they are
looked for. They are made when the first conversation is judged.
"""

import re
from functools import cache

CURLY = "\u2019"


@cache
def asked_to_keep() -> re.Pattern[str]:
    """Pattern of requests to remember something."""
    return _any_of(
        "remember (?:that|this|to|my|our|the|i|we)|remember:|keep in mind|don't forget|"
        "do not forget|note (?:that|this|down)|make a note|"
        "for (?:future|the) (?:reference|record)|save this|"
        "write (?:this|that) down"
    )


@cache
def corrections() -> re.Pattern[str]:
    """Pattern of corrections."""
    return _any_of(
        "no, (?:it|that|the|we|i|not|use)|"
        "that(?:'s| is| was) (?:wrong|not right|incorrect|outdated)|"
        "actually,? (?:it|we|the|i|that)|i meant|you (?:were|are) wrong|not .{1,40} but|correction|"
        "it should (?:be|have been)|is no longer|not anymore"
    )


@cache
def decisions() -> re.Pattern[str]:
    """Pattern of decisions."""
    return _any_of(
        "(?:we|i)(?:'ve| have)? (?:decided|chose|agreed|settled)|let's (?:go with|use|stick)|"
        "(?:we|i)(?:'re| are|'m| am) (?:going with|switching|moving to|migrating)|"
        "we(?:'ll| will) (?:use|go with|keep|drop|adopt)|the decision (?:is|was)|"
        "decided (?:to|on|against)"
    )


@cache
def preferences() -> re.Pattern[str]:
    """Pattern of preferences."""
    return _any_of(
        "i (?:prefer|like|love|hate|dislike|always|never|usually|want you to)|my favou?rite|"
        "from now on|(?:always|never) (?:use|write|add|do|call|answer|send|put)|i'd rather|"
        "we (?:prefer|always|never)|in future"
    )


@cache
def commitments() -> re.Pattern[str]:
    """Pattern of commitments and deadlines."""
    return _any_of(
        "(?:i|we)(?:'ll| will) .{1,60} (?:by|before|until|on|tomorrow|next)|deadline|due (?:on|by)|"
        "remind me|(?:i|we) promised?|(?:i|we) committed to|must be (?:done|ready|finished) by"
    )


@cache
def troubles() -> re.Pattern[str]:
    """Pattern of failures."""
    return _any_of(
        "errors?|bugs?|fail(?:s|ed|ing|ure|ures)?|crash(?:es|ed)?|exceptions?|broken|outages?|"
        "timed? ?outs?|regressions?|leaks?"
    )


@cache
def fixes() -> re.Pattern[str]:
    """Pattern of causes and remedies."""
    return _any_of(
        "fixed by|the fix (?:is|was)|fixes it|fixed it|root cause|(?:re)?solved by|turned out|"
        "the (?:cause|reason|problem) (?:is|was)|caused by|works? (?:now|again)|workaround"
    )


@cache
def requests() -> re.Pattern[str]:
    """Pattern of sentences that start with a request."""
    return re.compile(
        r"\s*(?:(?:hi|hey|hello|ok|okay|so|and|please|now),?\s+)*"
        r"(?:(?:can|could|would|will) you|explain|show|tell|write|give|list|help|find|translate|"
        r"summari[sz]e|describe|what|how|why|when|where|who|which|is there|are there|do you|"
        r"does)\b",
        re.IGNORECASE,
    )


@cache
def states() -> re.Pattern[str]:
    """Pattern of statements."""
    return _any_of(
        "is|are|was|were|am|has|have|had|i'm|it's|uses?|runs?|lives?|works?|needs?|listens?|stores?|"
        "costs?|takes?|starts?|ends?|belongs?|owns?|moved|expires?|means?|contains?|requires?|"
        "depends?|points?"
    )


@cache
def particulars() -> re.Pattern[str]:
    """Pattern of a number, a capitalised name or code."""
    return re.compile(r"\d|\b[A-Z][\w-]+|`[^`]+`|\b\w+[_/.]\w+")


def _any_of(phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{phrases})(?!\w)", re.IGNORECASE)
