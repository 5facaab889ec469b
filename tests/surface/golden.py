"""Transcripts of commands, held against the files in `tests/golden`.

`UPDATE_GOLDEN=1` writes them anew. What differs from run to run stands there as a placeholder:
ids (numbered in order of appearance), times, scores and the store's folder.
"""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from tests.surface.command import CommandLine, Ran

FOLDER = Path(__file__).parent.parent / "golden"
_ID = re.compile(r"mem_\d+_[0-9a-f]{6}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_DAY = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?: \d\d:\d\d)?(?![\dT:-])")
_FENCE = re.compile(r"(?<=memories-)[0-9a-f]{12}")
_TOKENS = re.compile(r"\d+(?= of \d+ tokens)")  # the words of the fence are drawn anew
_SCORE = re.compile(r"(?<=\[IMPORTANCE: )(?:0\.\d\d|1\.00)(?=\])")


def check(
    name: str, cli: CommandLine, commands: Sequence[Sequence[str]], *, terminal: bool = False
) -> None:
    """Run the commands and compare the transcript; a word `{1}` is the first id that appeared."""
    path, transcript = FOLDER / f"{name}.txt", ""
    ids: dict[str, str] = {}
    for words in commands:
        known = {f"{{{number}}}": id_ for number, id_ in enumerate(ids, start=1)}
        typed = [known.get(word, word) for word in words]
        done = cli.on_terminal(*typed) if terminal else cli(*typed)
        transcript += _transcribed(done, typed)
        for id_ in _ID.findall(transcript):
            ids.setdefault(id_, f"{{MEMORY_{len(ids) + 1}}}")
    shown = _ID.sub(lambda found: ids[found[0]], transcript)
    shown = _SCORE.sub("{SCORE}", _TIME.sub("{TIME}", shown.replace(str(cli.store), "{STORE}")))
    shown = _FENCE.sub("{FENCE}", _DAY.sub("{DAY}", _TOKENS.sub("{TOKENS}", shown)))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def _transcribed(done: Ran, words: Sequence[str]) -> str:
    errors = "".join(f"stderr: {line}\n" for line in done.err.splitlines())
    ending = f"exit: {done.code}\n" if done.code else ""
    return f"$ memory-mesh {shlex.join(words)}\n{done.out}{errors}{ending}\n"
