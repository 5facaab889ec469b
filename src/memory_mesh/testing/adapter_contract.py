"""What every adapter of a framework promises, as tests: store, recall, forget, processes, users.

An adapter is driven as the framework's own programs drive it: `tell` is what makes it store, `ask`
returns all that it gives the program or the model for a question.
"""

import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pytest

FOOD = "Remember that my favourite food is pizza with olives."
DRINK = "Remember that my favourite drink is green tea."
OTHER_FOOD = "Remember that my favourite food is ramen with eggs."
ASK_FOOD, ASK_DRINK = "What is my favourite food?", "What is my favourite drink?"


class Adapted(Protocol):
    """An adapter as the contract drives it."""

    def tell(self, user: str, text: str) -> None:
        """Have a program of the framework store what a user says."""

    def ask(self, user: str, question: str) -> str:
        """All that a program of the framework is given for a question of a user."""

    def forget(self, user: str, text: str) -> None:
        """Delete what a user said."""


class AdapterContract:
    """The suite; a subclass opens its adapter and tells through it from another process."""

    folder: Path
    cwd: Path | None = None  # where commands run

    def open_adapter(self) -> AbstractContextManager[Adapted]:
        """The adapter over the store in `self.folder`."""
        raise NotImplementedError

    def command(self, told: Sequence[tuple[str, str]]) -> list[str]:
        """The command of another process that tells these texts of users, one after the other."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "adapted"

    def test_what_is_told_is_recalled_and_only_for_what_asks_for_it(self) -> None:
        """Store and recall."""
        with self.open_adapter() as adapted:
            assert "pizza" not in adapted.ask("alice", ASK_FOOD)
            adapted.tell("alice", FOOD)
            adapted.tell("alice", DRINK)
            assert "pizza with olives" in adapted.ask("alice", ASK_FOOD)
            assert "green tea" in adapted.ask("alice", ASK_DRINK)

    def test_what_is_told_is_there_after_a_restart(self) -> None:
        """The store outlives the adapter."""
        with self.open_adapter() as adapted:
            adapted.tell("alice", FOOD)
        with self.open_adapter() as adapted:
            assert "pizza with olives" in adapted.ask("alice", ASK_FOOD)

    def test_what_is_forgotten_does_not_come_back(self) -> None:
        """Forget, and tell the same again."""
        with self.open_adapter() as adapted:
            adapted.tell("alice", FOOD)
            adapted.tell("alice", DRINK)
            adapted.forget("alice", FOOD)
            assert "pizza" not in adapted.ask("alice", ASK_FOOD)
            assert "green tea" in adapted.ask("alice", ASK_DRINK)
        with self.open_adapter() as adapted:
            assert "pizza" not in adapted.ask("alice", ASK_FOOD)
            adapted.tell("alice", FOOD)
            assert "pizza with olives" in adapted.ask("alice", ASK_FOOD)

    def test_two_users_have_memories_of_their_own(self) -> None:
        """Nothing of one user reaches, changes or removes what another has."""
        with self.open_adapter() as adapted:
            adapted.tell("alice", FOOD)
            adapted.tell("bob", OTHER_FOOD)
            adapted.tell("carol", FOOD)
            assert "ramen" not in adapted.ask("alice", ASK_FOOD)
            assert "pizza" not in adapted.ask("bob", ASK_FOOD)
            assert "ramen with eggs" in adapted.ask("bob", ASK_FOOD)
            assert adapted.ask("dave", ASK_FOOD) == adapted.ask("erin", ASK_FOOD)
            adapted.forget("carol", FOOD)
            assert "pizza with olives" in adapted.ask("alice", ASK_FOOD)
            assert "pizza" not in adapted.ask("carol", ASK_FOOD)

    def test_what_another_process_tells_is_recalled_at_once(self) -> None:
        """An open adapter sees what is told elsewhere."""
        with self.open_adapter() as adapted:
            adapted.tell("alice", DRINK)
            assert "pizza" not in adapted.ask("alice", ASK_FOOD)
            (elsewhere,) = self._started([[("alice", FOOD)]])
            assert elsewhere.wait() == 0
            assert "pizza with olives" in adapted.ask("alice", ASK_FOOD)
            assert "green tea" in adapted.ask("alice", ASK_DRINK)

    def test_two_processes_at_once_lose_nothing(self) -> None:
        """Both tell of the same two users, at the same time; all is there, with the right user."""
        told = [
            [("alice", _hobby("chess")), ("bob", _hobby("pottery")), ("alice", FOOD)],
            [("bob", _hobby("archery")), ("alice", _hobby("sailing")), ("alice", FOOD)],
        ]
        assert [process.wait() for process in self._started(told)] == [0, 0]
        with self.open_adapter() as adapted:
            for user, text in [*told[0], *told[1]]:
                other = "bob" if user == "alice" else "alice"
                assert text in adapted.ask(user, text.removeprefix("Remember that "))
                assert text not in adapted.ask(other, text.removeprefix("Remember that "))

    def _started(self, told: Sequence[Sequence[tuple[str, str]]]) -> list[subprocess.Popen[bytes]]:
        """Other processes, one for each list."""
        commands = [self.command(each) for each in told]
        return [subprocess.Popen(command, cwd=self.cwd) for command in commands]  # noqa: S603  # our own command


def _hobby(name: str) -> str:
    return f"Remember that {name} is one of my hobbies."
