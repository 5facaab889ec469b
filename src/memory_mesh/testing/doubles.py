"""A clock that stands still until it is told otherwise, and a language model with a script."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from memory_mesh.model.errors import LLMError


class FrozenClock:
    """Always says the same time; `advance` and `set` move it, backwards too."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The time it stands at."""
        return self._now

    def monotonic(self) -> float:
        """Seconds since 1970 at the time it stands at."""
        return self._now.timestamp()

    def advance(self, step: timedelta) -> datetime:
        """Go on by a step and say the new time."""
        self._now += step
        return self._now

    def set(self, moment: datetime) -> None:
        """Stand at another moment."""
        self._now = moment


class ScriptedLLM:
    """Answers in order and remembers the prompts; an exception in the script is raised."""

    def __init__(self, answers: Iterable[str | Exception] = ()) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []
        self.max_tokens: list[int | None] = []

    def complete(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The next answer of the script; LLMError when it is used up."""
        self.prompts.append(prompt)
        self.max_tokens.append(max_tokens)
        if not self._answers:
            raise LLMError("the script has no more answers")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
