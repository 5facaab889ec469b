"""Names the pattern of a failure from its text: one name however names, numbers and paths differ.

::

    a well-known failure ──▶ its name (`certificate_expired`), in whichever words
    an exception ──────────▶ its class and the words of its message
    an error code ─────────▶ the code (`econnrefused`, `http_404`, `exit_code_1`)
    anything else ─────────▶ the terms of the sentence that tells of the failure
"""

import re

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.learn.rules.note import Sentence, read_note
from memory_mesh.learn.rules.rule_phrases import troubles
from memory_mesh.text import analyzer

_MESSAGE_WORDS = 6
_STORY_TERMS = 8
_MIN_MESSAGE_WORDS = 2
_KNOWN = {
    "certificate_expired": (
        r"certificate (?:has|is|was|had)? ?expired|cert(?:ificate)? expired|CERT_HAS_EXPIRED"
    ),
    "certificate_not_trusted": (
        r"self[- ]signed certificate|unable to get local issuer|unknown authority|"
        r"CERTIFICATE_VERIFY_FAILED"
    ),
    "file_watchers_exhausted": r"file watchers",
    "no_space_left": r"no space left on device|disk (?:is |was )?full",
    "too_many_open_files": r"too many open files|EMFILE",
    "no_such_file": r"no such file or directory|ENOENT|FileNotFoundException",
    "permission_denied": r"permission denied|EACCES",
    "address_in_use": (
        r"address already in use|EADDRINUSE|port (?:\d+ )?is already (?:allocated|in use)"
    ),
    "connection_refused": r"connection refused|ECONNREFUSED",
    "connection_reset": r"connection (?:was )?reset|ECONNRESET",
    "host_not_found": (
        r"could not resolve host|name or service not known|getaddrinfo|ENOTFOUND|no such host"
    ),
    "broken_pipe": r"broken pipe|EPIPE",
    "out_of_memory": (
        r"OOM-?killed|out of memory|OutOfMemory|heap out of memory|cannot allocate memory|"
        r"exit(?:ed)?(?: with)?(?: code)? 137"
    ),
    "nil_pointer": r"nil pointer dereference|null pointer|NullPointerException",
    "segmentation_fault": r"segmentation (?:fault|violation)|SIGSEGV|segfault",
    "stack_overflow": (
        r"maximum call stack|stack overflow|maximum recursion depth|RecursionError|"
        r"StackOverflowError"
    ),
    "concurrent_map_writes": r"concurrent map (?:writes|read)",
    "merge_conflict": (
        r"merge conflict|CONFLICT \((?:content|add/add|modify/delete)\)|automatic merge failed"
    ),
    "push_rejected": r"non-fast-forward|updates were rejected|failed to push some refs",
    "missing_relation": (
        r"relation \S+ does not exist|no such table|table \S+ doesn't exist|UndefinedTable"
    ),
    "missing_column": (
        r"column \S+ (?:of relation \S+ )?does not exist|no such column|unknown column|"
        r"UndefinedColumn"
    ),
    "duplicate_key": r"duplicate (?:key|entry)|unique constraint|UniqueViolation",
    "foreign_key": r"foreign key constraint|ForeignKeyViolation",
    "not_null": r"not[- ]null constraint|cannot be null|NotNullViolation",
    "deadlock": r"deadlock",
    "database_locked": r"database is locked",
    "too_many_connections": (
        r"too many (?:clients|connections)|remaining connection slots|"
        r"connection pool (?:is )?exhausted"
    ),
    "lock_wait_timeout": r"lock wait timeout",
    "statement_timeout": r"statement timeout",
    "authentication_failed": r"(?:password )?authentication failed|access denied for user",
    "missing_environment_variable": (
        r"missing (?:required )?environment variable|"
        r"environment variable \S+ (?:is )?(?:not set|missing|undefined)"
    ),
    "circular_import": r"circular import|partially initialized module",
    "python_module_missing": r"No module named",
    "python_import_name": r"cannot import name",
    "node_module_missing": r"cannot find module|module not found: error: can't resolve",
    "js_property_of_nothing": (
        r"cannot read propert(?:y|ies) (?:\S+ )?of (?:undefined|null)|"
        r"(?:undefined|null) is not an object"
    ),
    "js_not_a_function": r"is not a function",
    "js_not_iterable": r"is not iterable",
    "python_none_attribute": r"'NoneType' object has no attribute",
    "python_none_subscript": r"'NoneType' object is not subscriptable",
    "python_name_undefined": r"name '\S+' is not defined",
    "js_not_defined": r"\S{1,80} is not defined",
    "json_syntax": (
        r"unexpected token .{1,20} (?:in|is not valid) JSON|unexpected end of JSON|"
        r"Expecting value: line"
    ),
    "cors": r"blocked by CORS|Access-Control-Allow-Origin",
    "rate_limited": r"too many requests|rate limit(?:ed| exceeded)?|HTTP 429",
    "image_pull": r"ImagePullBackOff|ErrImagePull|manifest unknown",
    "test_timeout": r"exceeded timeout of|test timed? ?out|Timeout of \d+ ?ms exceeded",
    "read_timeout": r"read timed out|ReadTimeout|read timeout",
    "connect_timeout": r"connect(?:ion)? timed out|ETIMEDOUT|ConnectTimeout|connect timeout",
    "python_list_index": r"list index out of range",
    "division_by_zero": r"division by zero|divide by zero|ZeroDivisionError",
}


def signature(text: str) -> str:
    """Returns the name of a failure's pattern, or an empty text if the text tells nothing."""
    note = read_note(text)
    logged = " \n".join(one.text for one in note if one.log)
    for told in (logged, text):
        found = _known(told) or _exception(told) or _code(told)
        if found:
            return found
    return _story(note)


def _known(told: str) -> str:
    """Returns the name of the most specific well-known failure in the text."""
    names = {found.lastgroup for found in _well_known().finditer(told)}
    return next((name for name in _KNOWN if name in names), "")


def _exception(told: str) -> str:
    """Returns the class of the last exception with a message, and the words of its message."""
    raised = list(_exceptions().finditer(told))
    if not raised:
        return ""
    with_message = [one for one in raised if one["message"]]
    last = (with_message or raised)[-1]
    name = _humps().sub("_", last["name"]).lower()
    words = _plain_words(last["message"] or "")
    return f"{name}: {' '.join(words)}" if len(words) >= _MIN_MESSAGE_WORDS else name


def _code(told: str) -> str:
    found = _codes().search(told)
    if found is None:
        return ""
    if found["http"] or found["status"]:
        return f"http_{found['http'] or found['status']}"
    return f"exit_code_{found['exit']}" if found["exit"] else found["errno"].lower()


def _story(note: list[Sentence]) -> str:
    """Returns the terms of the first sentence that tells of trouble, else of the first one."""
    if not note:
        return ""
    told = next((one for one in note if troubles().search(one.plain)), note[0])
    terms = analyzer.terms(" ".join(_plain_words(told.text, least=0)))
    return " ".join(list(dict.fromkeys(terms))[:_STORY_TERMS])


def _plain_words(message: str, least: int = _MESSAGE_WORDS) -> list[str]:
    """Returns the words of a message without names, numbers, paths and what stands in brackets."""
    bare = _details().sub(
        " ",
        " ".join(
            "" if _signs().search(word) else word for word in _quotes().sub(" ", message).split()
        ),
    )
    words = [word.strip(".,:;!?-").casefold() for word in bare.split()]
    kept = [word for word in words if word and word.replace("'", "").isalpha()]
    return kept[:least] if least else kept


_well_known = lazy_pattern(
    "|".join(rf"(?P<{name}>(?<!\w)(?:{pattern}))" for name, pattern in _KNOWN.items()),
    re.IGNORECASE,
)


_exceptions = lazy_pattern(
    r"\b(?P<name>[A-Z][A-Za-z]{0,60}(?:Error|Exception|Timeout|"
    r"Failure))\b(?::\s*(?P<message>[^\n]{0,300}))?"
)


_codes = lazy_pattern(
    r"\b(?P<errno>E[A-Z]{4,14})\b|(?:\bHTTP(?:/[\d.]+)?|\bstatus(?: code)?|->|→|\breturn(?:s|"
    r"ed))\s*+:?\s*+(?P<http>[45]\d\d)\b"
    r"|\b(?P<status>[45]\d\d)\s+(?:Unauthorized|Forbidden|Not Found|Bad|Internal|Service|"
    r"Gateway|Method|Conflict|Gone|"
    r"Payload|Unprocessable|Request|Too Many)|\bexit(?:ed)?(?: with)?(?: (?:code|"
    r"status))\s*+:?\s*+(?P<exit>\d{1,3})\b"
)


_humps = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


# Pattern of names that differ between two cases of one failure.
_details = lazy_pattern(r"\b\w+\.\w[\w.]*\b|(?<=\s)[A-Z][a-z]+\b|\b[a-z]+[A-Z]\w*")


_quotes = lazy_pattern(
    r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'|\([^()\n]*\)|\[[^\[\]\n]*\]|<[^<>\n]*>"
)


_signs = lazy_pattern(r"[\d_/\\@=]")
