"""Entries of a Markdown log of what happened to memories.

::

    ## 09:00:03 · store · `kuro`

    ```text
    the memory, as it was stored
    ```

    - id: `mem_1767225600000_3fa2c1`
    - category: `decision`

The text stands in a code block whose fence is longer than any run of backticks in it, so that no
heading, link, image or HTML of a memory is one of the log. Everything invisible is shown as its
code, and whatever stands outside of the block is in a code span on one line.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from memory_mesh.formats.terminal import safe_text

_SHORTEST = 3  # backticks of a fence
_RUNS = re.compile("`+")
_VALUE_CHARS = 500


def entry(
    event: str, at: datetime, agent: str | None, text: str, facts: Mapping[str, str]
) -> bytes:
    """One entry with a blank line before it; facts without a value are left out."""
    shown = safe_text(text)
    longest = max((len(run) for run in _RUNS.findall(shown)), default=0)
    fence = "`" * max(_SHORTEST, longest + 1)
    heading = [f"{at.astimezone(UTC):%H:%M:%S}", event, *([_span(agent)] if agent else ())]
    listed = [f"- {name}: {_span(value)}" for name, value in facts.items() if value]
    lines = ["", f"## {' · '.join(heading)}", "", f"{fence}text", shown, fence, "", *listed, ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _span(value: str) -> str:
    """A value as code on one line."""
    return f"`{safe_text(value[:_VALUE_CHARS], keep_newlines=False).replace('`', chr(39))}`"
