from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import (
    Draft,
    Keep,
    Memory,
    Merge,
    Outcome,
    Refuse,
    Repeat,
    Scope,
    Seen,
    Standing,
    Wording,
)
from memory_mesh.model.errors import IdempotencyConflict
from memory_mesh.rules.arguments import MEMORY_CHARS
from memory_mesh.write.rules.judge import judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = Memory(id="mem_1_000001", text="tea is hot", created=NOW, recorded_from=NOW)


def wording(text):
    return Wording(text, sha256(text.encode()).digest(), text)


def standing(twins=None, keys=None):
    return Standing(NOW, twins or {}, keys or {}, {}, lambda _: False, lambda _: [])


TWIN = {(wording("tea is hot").hash, Scope()): (KNOWN,)}
SEEN = {"k": Seen(wording("tea is hot").hash, Outcome.STORED, KNOWN)}


@pytest.mark.parametrize(
    ("draft", "rival", "verdict"),
    [
        (Draft(text="tea is hot"), standing(), Keep()),
        (Draft(text="tea is hot"), standing(TWIN), Merge(KNOWN)),
        (Draft(text="tea is cold"), standing(TWIN), Keep()),
        (Draft(text="tea is hot", scope=Scope(session="s")), standing(TWIN), Keep()),
        (Draft(text="tea is hot", allow_duplicate=True), standing(TWIN), Keep()),
        (Draft(text="tea is hot", valid_until=NOW), standing(TWIN), Keep()),
        (Draft(text="tea is hot", key="k"), standing(TWIN, SEEN), Repeat(SEEN["k"])),
        (Draft(text="tea is hot", key="other"), standing({}, SEEN), Keep()),
        (Draft(text=" \n\t"), standing(), Refuse("the text is empty")),
        (Draft(text="x" * MEMORY_CHARS), standing(), Keep()),
    ],
)
def test_a_draft_is_judged_by_what_is_known(draft, rival, verdict):
    assert judge(draft, wording(draft.text), rival) == verdict


def test_a_text_past_the_limit_is_refused_with_its_length():
    verdict = judge(Draft(text="x" * (MEMORY_CHARS + 1)), wording("x"), standing())
    assert isinstance(verdict, Refuse)
    assert "100001" in verdict.reason


def test_one_key_for_two_contents_is_a_conflict():
    with pytest.raises(IdempotencyConflict):
        judge(Draft(text="tea is cold", key="k"), wording("tea is cold"), standing({}, SEEN))


@given(st.text(), st.booleans())
def test_the_judge_is_total_and_deterministic(text, twice):
    draft = Draft(text=text, allow_duplicate=twice)
    prepared = Wording(text, sha256(text.encode("utf-8", "surrogatepass")).digest(), text)
    assert judge(draft, prepared, standing(TWIN)) == judge(draft, prepared, standing(TWIN))
