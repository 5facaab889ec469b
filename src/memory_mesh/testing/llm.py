"""A language model that says what it was told to say."""

from collections.abc import Iterable

from memory_mesh.model.errors import LLMError


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
