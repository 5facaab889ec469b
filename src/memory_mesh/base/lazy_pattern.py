"""Patterns that are compiled when they are first asked for: an import compiles none."""

import re
from collections.abc import Callable
from functools import cache


def lazy_pattern(source: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Returns a function that returns the pattern, compiled once."""
    return cache(lambda: re.compile(source, flags))
