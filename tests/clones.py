"""Real git repositories for tests: every command of one test is a second after the one before."""

import itertools
import os
import subprocess
import time
from pathlib import Path

from memory_mesh.mirror.authors import Author, Authors, Verdict

_SECONDS = itertools.count(int(time.time()) - 100_000)  # recent: git forgets old reflogs


class Repo:
    """A work tree with a mirror folder `notes`, driven by git itself."""

    def __init__(self, top: Path, who: str = "me") -> None:
        self.top = top
        self.who = who
        self.notes = top / "notes"

    def git(self, *words: str, fails: bool = False, given: str = "", **variables: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.top,
            env=_environment(self.who) | variables,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stdout.strip()

    def write(self, name: str, text: str) -> bytes:
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return text.encode()

    def read(self, name: str) -> bytes:
        return (self.notes / name).read_bytes()

    def commit(self, name: str, text: str, *options: str) -> bytes:
        content = self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"change {name}", *options)
        return content


def new_repo(top: Path, who: str = "me", *options: str) -> Repo:
    top.mkdir(parents=True)
    repo = Repo(top, who)
    repo.git("init", "-q", "-b", "main", *options)
    repo.notes.mkdir()
    return repo


def clone(source: Path | str, top: Path, who: str = "me", *options: str) -> Repo:
    where = Repo(top.parent, who)
    where.git("-c", "protocol.file.allow=always", "clone", "-q", *options, str(source), str(top))
    repo = Repo(top, who)
    repo.notes.mkdir(exist_ok=True)
    return repo


def shared(folder: Path) -> tuple[Repo, Repo, Repo]:
    """A bare server's two clones, mine and theirs, with one note of theirs; and the server."""
    seed = new_repo(folder / "seed", "them")
    seed.commit("theirs.md", "# Theirs\n\nThe port is 1.\n")
    server = Repo(folder / "server.git", "them")
    Repo(folder).git("clone", "-q", "--bare", str(seed.top), str(server.top))
    return clone(server.top, folder / "mine"), clone(server.top, folder / "they", "them"), server


def verdict(repo: Repo, name: str, content: bytes | None = None) -> Verdict:
    """Whose words a note, or this content of it, is."""
    with Authors.of_folder(repo.notes, repo.top.parent / "state") as authors:
        return authors.verdict(name, repo.read(name) if content is None else content)


def author(repo: Repo, name: str, content: bytes | None = None) -> Author:
    return verdict(repo, name, content).author


def _environment(who: str) -> dict[str, str]:
    when = f"{next(_SECONDS)} +0000"
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {
        "GIT_AUTHOR_NAME": who,
        "GIT_AUTHOR_EMAIL": f"{who}@example.org",
        "GIT_COMMITTER_NAME": who,
        "GIT_COMMITTER_EMAIL": f"{who}@example.org",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_EDITOR": "true",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
