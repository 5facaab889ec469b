r"""Rules a user adds in the configuration, in RE2's syntax, which takes linear time on any text.

[[privacy.rules]]
name = "ticket"
pattern = 'ACME-\d{4,8}'
"""

import re
from collections.abc import Mapping, Sequence

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.policy.privacy.rule import Finder, Rule

_KNOWN = ("name", "pattern", "label", "why", "example")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,39}")


def read(settings: Mapping[str, object] | Sequence[Mapping[str, object]]) -> tuple[Rule, ...]:
    """Builds rules from a list of tables, or from one table of names and patterns."""
    if isinstance(settings, Mapping):
        settings = [{"name": name, "pattern": pattern} for name, pattern in settings.items()]
    return tuple(_rule(number, table) for number, table in enumerate(settings, 1))


def _rule(number: int, table: Mapping[str, object]) -> Rule:
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"privacy rule {number} needs a name of lower-case letters, digits and _, not {name!r}"
        )
    for key, value in table.items():
        if key not in _KNOWN:
            raise InvalidInput(
                f"the privacy rule {name!r} has an unknown key {key!r};"
                f" the keys are: {', '.join(_KNOWN)}"
            )
        if not isinstance(value, str):
            raise InvalidInput(
                f"the {key} of the privacy rule {name!r} must be text, not {shown(value)}"
            )
    if not table.get("pattern"):
        raise InvalidInput(f"the privacy rule {name!r} needs a pattern in RE2 syntax")
    label = str(table.get("label", name.upper()))
    if not _LABEL.fullmatch(label):
        raise InvalidInput(
            f"the label of the privacy rule {name!r} must be capital letters, digits and _,"
            f" not {label!r}"
        )
    return Rule(
        name=name,
        label=label,
        pattern=_compiled(name, str(table["pattern"])),
        why=str(table.get("why", "a rule of yours")),
        example=str(table.get("example", "")),
    )


def _compiled(name: str, pattern: str) -> Finder:
    import re2  # type: ignore[import-untyped]  # it ships none

    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Finder = re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise InvalidInput(
            f"the pattern of the privacy rule {name!r} is not valid RE2: {reason}"
        ) from None
    if any(True for _ in compiled.finditer("")):
        raise InvalidInput(
            f"the pattern of the privacy rule {name!r} matches the empty text;"
            " it must match at least one character"
        )
    return compiled
