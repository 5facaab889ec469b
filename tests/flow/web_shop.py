"""The example project in a place of its own, and the commands of its page."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples/web_shop"
MEMORIES, LEARNED = Path(".rawko/memories"), Path("projects/web-shop")
_IDS = re.compile(r"\b(mem|skill|prop)_\d{13}_[0-9a-f]{6}\b")
_TIMES = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of the page, and what the page says that it prints."""

    command: str
    output: tuple[str, ...]

    def fits(self, printed: str) -> bool:
        """True if the output is as shown; `…` stands for anything."""
        pattern = re.escape("".join(f"{line}\n" for line in self.output))
        return re.fullmatch(pattern.replace("…", "(?s:.*)"), printed) is not None


def commands(page: str) -> list[Shown]:
    """Every command of a page in its order."""
    found: list[Shown] = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", page):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            found.append(Shown(command, tuple(neutral(line) for line in output)))
    return found


def neutral(text: str) -> str:
    """The text without what differs from run to run."""
    return _TIMES.sub("TIME", _IDS.sub(r"\1_ID", text))


def copied(folder: Path) -> Path:
    """The example as somebody got it, without a store."""
    return Path(shutil.copytree(
        EXAMPLE, folder / "web-shop", ignore=shutil.ignore_patterns(".store", "__pycache__")
    ))  # fmt: skip


def in_shell(project: Path, lines: list[str]) -> list[tuple[int, str, str]]:
    """Runs lines in one shell; the exit code, the output and the errors of each."""
    script = "".join(
        f"{line}\ncode=$?; printf '\\001%d\\n' $code; printf '\\001' >&2\n" for line in lines
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=project,
        env=environment(project.parent),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    printed, errors = done.stdout.split("\x01"), done.stderr.split("\x01")
    codes = [int(part.partition("\n")[0]) for part in printed[1:]]
    texts = [printed[0], *(part.partition("\n")[2] for part in printed[1:-1])]
    return list(zip(codes, texts, errors[:-1], strict=True))


def environment(home: Path) -> dict[str, str]:
    """The variables of somebody who has git, Python and memory-mesh."""
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "MEMORY_MESH_EMBEDDER": "none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@shop.example",
        "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@shop.example",
    }  # fmt: skip
