"""What is taken first, what is weighed, and what is left."""

from datetime import UTC, datetime

import pytest

from memory_mesh.context.packing import choice
from memory_mesh.context.packing.choice import PackCandidate, Room, choose
from memory_mesh.model import Memory
from memory_mesh.model.pack import LeftOutBy, Section

AT = datetime(2026, 1, 1, tzinfo=UTC)


def candidate(
    id_: str,
    tokens: int = 10,
    value: float = 1.0,
    section: Section = Section.FOUND,
    *,
    text: str = "",
    newer: str | None = None,
    speaker: str | None = None,
    price: int | None = None,
) -> PackCandidate:
    text = text or f"text of {id_}"
    memory = Memory(id=id_, text=text, created=AT, recorded_from=AT, speaker=speaker)
    words, said = choice.words(text), choice.said(text)
    return PackCandidate(
        memory, section, tokens, value, value, price, newer=newer, words=words, said=said
    )


def taken(
    *candidates: PackCandidate, room: int = 100, first: int = 30, most: int | None = None
) -> str:
    chosen = choose(candidates, Room(room, first, most), compete=True)
    return "".join(one.id for one in chosen.taken)


def test_the_most_valuable_per_token_comes_first() -> None:
    assert taken(candidate("a", 90, 1.0), candidate("b", 10, 1.0), room=95) == "b"
    assert taken(candidate("a", 90, 1.0), candidate("b", 10, 0.5), room=95) == "a"


def test_a_smaller_one_fills_what_is_left() -> None:
    found = (candidate("a", 50, 3.0), candidate("b", 60, 2.0), candidate("c", 40, 1.0))
    assert taken(*found) == "ac"


def test_what_repeats_a_chosen_one_is_worth_less() -> None:
    one = candidate("a", value=3.0, text="deploys go through the staging gate on monday")
    like = candidate("b", value=1.05, text="deploys go through the staging gate on friday")
    other = candidate("c", value=1.0, text="the office has moved to another town")
    assert taken(one, like, other, room=20) == "ac"
    assert taken(one, like, other) == "acb"


@pytest.mark.parametrize(
    ("speaker", "text", "same"),
    [
        (None, "Port is 8080!", True),
        (None, "Port is 9090", False),
        (None, "Port is not 8080", False),
        ("Ann", "Port is 8080", False),
    ],
)
def test_only_the_same_words_of_the_same_speaker_are_the_same(
    speaker: str | None, text: str, *, same: bool
) -> None:
    one = candidate("a", value=2.0, text="port is 8080")
    chosen = choose([one, candidate("b", text=text, speaker=speaker)], Room(99, 0), compete=True)
    assert [(left.id, left.by, left.because) for left in chosen.left] == (
        [("b", LeftOutBy.REDUNDANT, "a")] if same else []
    )


def test_what_comes_first_has_its_share_and_then_competes() -> None:
    pinned = [candidate(name, 20, 0.1, Section.PINNED) for name in "pq"]
    best = candidate("a", 20, 5.0)
    chosen = choose([*pinned, best], Room(60, 30), compete=True)
    assert [(one.id, one.section) for one in chosen.taken] == [
        ("p", Section.PINNED),
        ("a", Section.FOUND),
        ("q", Section.FOUND),
    ]
    chosen = choose([*pinned, best], Room(60, 30), compete=False)
    assert [one.id for one in chosen.taken] == ["p", "a"]
    assert [(one.id, one.by) for one in chosen.left] == [("q", LeftOutBy.SHARE)]


def test_an_older_statement_needs_its_newer_one() -> None:
    newer, older = candidate("n", 50), candidate("o", 10, 9.0, Section.OLDER, newer="n")
    assert taken(newer, older) == "no"
    assert taken(newer, older, room=40) == ""
    left = choose([newer, older], Room(40, 0), compete=True).left
    assert [(one.id, one.by, one.because) for one in left] == [
        ("n", LeftOutBy.BUDGET, None),
        ("o", LeftOutBy.OLDER, "n"),
    ]


def test_the_largest_number_counts() -> None:
    assert taken(candidate("a"), candidate("b"), candidate("c"), most=2) == "ab"


def test_a_price_replaces_tokens_and_penalty() -> None:
    text = "deploys go through the staging gate"
    one = candidate("a", 10, 1.0, price=1, text=text)
    like = candidate("b", 10, 0.9, price=1, text=f"{text} {text}")
    assert taken(one, like, candidate("c", 1, 0.8, price=1), room=21) == "abc"


def test_shown_best_first_with_the_older_behind_the_newer() -> None:
    found = [
        candidate("a", value=0.9),
        candidate("o", value=0.9, section=Section.OLDER, newer="b"),
        candidate("b", value=0.5),
        candidate("p", value=0.1, section=Section.PINNED),
        candidate("c", value=0.5),
    ]
    places = {one.id: place for place, one in enumerate(found)}
    assert "".join(one.id for one in choice.ordered(found[::-1], places)) == "paboc"


def test_words_of_a_script_without_blanks_are_pairs() -> None:
    assert choice.words("Deploy, NOW") == ("deploy", "now")
    assert choice.words("部署好") == ("部署", "署好")


def test_a_hit_is_worth_no_less_than_the_one_below_it() -> None:
    from memory_mesh.model import Hit, Link

    memory = Memory(id="m", text="t", created=AT, recorded_from=AT)
    margins = [None, 1.0, 2.0, -1.0]
    hits = [Hit(memory, 0.5, {} if one is None else {"margin": one}) for one in margins]
    found = choice.worths(hits, by_margin=True)
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] == found[2] > found[3] > 0
    assert choice.worths(hits, by_margin=False) == [0.5] * 4
    made, alike = Link("a", "b", "related"), Link("a", "b", "similar", similarity=0.8)
    assert choice.linked(1.0, made) > choice.linked(1.0, alike) > 0


@pytest.mark.parametrize("mark", ["?", "? ", "\uff1f", "\u061f"])
def test_a_text_that_ends_by_asking_is_worth_less(mark: str) -> None:
    assert choice.telling(f"Who deploys today{mark}") < 1
    assert choice.telling(f"Who deploys{mark} Ann does.") == choice.telling("") == 1
