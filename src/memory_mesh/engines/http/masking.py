"""Keeping secrets out of what is shown: no part of a known one, and nothing that looks like one."""

import re
from collections.abc import Sequence

_TELLING = 8  # so many characters of a secret in a row give it away
_LOOKS_SECRET = re.compile(
    r"(?:\bBearer\s+|\b(?:sk|pk)-|\bsb_(?:secret|publishable)_|\bapi[_-]?key[\"'=:\s]+)\S+"
    r"|\beyJ[\w-]{5,}(?:\.[\w-]*){0,2}",  # a JWT, whole or cut off
    re.IGNORECASE,
)


def redacted(text: str, secrets: Sequence[str]) -> str:
    """The text with three asterisks for each secret, also where an echo was cut off."""
    for secret in secrets:
        size = min(_TELLING, len(secret))
        parts = {secret[at : at + size] for at in range(len(secret) - size + 1)}
        if any(part in text for part in parts):
            starts = "|".join(re.escape(part) for part in sorted(parts))
            text = re.sub(rf"(?:(?={starts}).)+.{{{size - 1}}}", "***", text, flags=re.DOTALL)
    return _LOOKS_SECRET.sub("***", text)
