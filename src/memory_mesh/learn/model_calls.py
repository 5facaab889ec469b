"""Calls of a language model, counted: how many tokens and seconds each took, and a limit per day.

::

    reserve: prompt + longest answer ──▶ above the limit of the day? LLMError, nothing is called
        │                    one transaction of the namespace, so that no two callers share the rest
        ▼
    call ──▶ answer, or LLMError ──▶ what it took stands in place of the reservation

A process that is killed in between leaves its reservation: the limit is never exceeded. What the
calls of a day took is one small value, `llm/<date>`, kept for 90 days.
"""

import json
from datetime import datetime, timedelta

from memory_mesh.base.typed import replace
from memory_mesh.learn.rules.extraction import SCHEMA
from memory_mesh.model import (
    Commit,
    LLMError,
    Standing,
    Wanted,
    times,
)
from memory_mesh.model.learning import ModelCall
from memory_mesh.model.ports import LLM
from memory_mesh.text.scrub.tokens import count
from memory_mesh.write.access import Access

MAX_TOKENS = 2_000  # of an answer whose caller states no other limit
LATE_SECONDS = 300.0  # after which an answer is no longer taken
KEPT_DAYS = 90
_STATE = "llm/"
_ASKED, _ANSWERED, _FAILED = "asked", "answered", "failed"


class MeteredLLM:
    """Implements `ports.LLM` over another one; `calls` are those made through this object."""

    def __init__(
        self, llm: LLM, access: Access, now: datetime, *, task: str, tokens_per_day: int
    ) -> None:
        self._llm, self._access, self._now = llm, access, now
        self._task, self._most = task, tokens_per_day
        self.calls: list[ModelCall] = []

    def complete(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The answer to a prompt; raises LLMError when none can be had today."""
        return self._metered(prompt, max_tokens, None)

    def complete_facts(self, prompt: str, *, max_tokens: int | None = None) -> str:
        """The same as a JSON object of facts, from a service that can be held to a schema."""
        return self._metered(prompt, max_tokens, getattr(self._llm, "complete_json", None))

    def tokens_today(self) -> int:
        """The tokens of this day's calls in this namespace."""
        with self._access.ledger.read(self._access.namespace) as snapshot:
            return _tokens(_read(snapshot.states(self._day).get(self._day)))

    def _metered(self, prompt: str, max_tokens: int | None, as_json: object) -> str:
        longest = max_tokens or MAX_TOKENS
        id_ = self._access.ids.draw("call")
        asked = ModelCall(
            at=self._now, task=self._task, input_tokens=count(prompt), output_tokens=longest,
            seconds=0.0, outcome=_ASKED,
        )  # fmt: skip
        self._put(id_, asked, limit=True)
        start, answer = self._access.timer(), ""
        try:
            if callable(as_json):
                answer = as_json(prompt, SCHEMA, max_tokens=longest)
            else:
                answer = self._llm.complete(prompt, max_tokens=longest)
            if (took := self._access.timer() - start) > LATE_SECONDS:
                raise LLMError(
                    f"the answer came after {took:.0f} s; it may take {LATE_SECONDS:.0f} s"
                )
        except OSError as error:
            raise LLMError(f"the language model cannot be reached: {error}") from error
        finally:
            self._settle(id_, asked, answer, self._access.timer() - start)
        return answer

    def _settle(self, id_: str, asked: ModelCall, answer: str, seconds: float) -> None:
        """Records what a call took: by the service's own count, else by ours, which errs high.

        What a call without an answer took nobody knows: the whole of its reservation counts.
        """
        took = getattr(answer, "usage", None) or {}
        call = replace(asked, seconds=round(seconds, 3), outcome=_FAILED)
        if answer:
            call = replace(
                call,
                input_tokens=took.get("input", asked.input_tokens),
                output_tokens=took.get("output", count(answer)),
                outcome=_ANSWERED,
                cost=took.get("cost"),
            )
        self.calls.append(call)
        self._put(id_, call)

    def _put(self, id_: str, call: ModelCall, *, limit: bool = False) -> None:
        old = f"{_STATE}{self._now - timedelta(days=KEPT_DAYS):%Y-%m-%d}"

        def decide(standing: Standing) -> Commit:
            calls = _read(standing.states.get(self._day))
            spent, wanted = _tokens(calls), call.input_tokens + call.output_tokens
            if limit and spent + wanted > self._most:
                raise LLMError(
                    f"{spent:,} of {self._most:,} tokens of the language model are spent today, "
                    f"and this call may take {wanted:,}: it is tried again tomorrow, or with a "
                    "larger llm_tokens_per_day"
                )
            return Commit(states={self._day: json.dumps(calls | {id_: _plain(call)}), old: None})

        self._access.ledger.commit(self._access.namespace, Wanted(states=(self._day,)), decide)

    @property
    def _day(self) -> str:
        return f"{_STATE}{self._now:%Y-%m-%d}"


def _read(value: str | None) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {} if value is None else json.loads(value)
    return found


def _tokens(calls: dict[str, list[object]]) -> int:
    return sum(int(str(each)) for call in calls.values() for each in call[2:4])


def _plain(call: ModelCall) -> list[object]:
    """Time, task, tokens in and out, seconds, outcome and cost."""
    return [times.iso(call.at), call.task, call.input_tokens, call.output_tokens, call.seconds,
            call.outcome, call.cost]  # fmt: skip
