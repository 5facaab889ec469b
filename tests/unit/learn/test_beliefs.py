"""Sentences, what memories say together, and how something is done."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from memory_mesh.formats import yamo
from memory_mesh.formats.yamo_learning import skill_text, slug
from memory_mesh.learn.rules import procedures, reflected_beliefs as learning_beliefs
from memory_mesh.model import Memory, Source, SourceKind
from memory_mesh.text.sentences import asks, says, sentences
from tests.effort import effort

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = st.sampled_from(
    [
        "deploy",
        "staging",
        "port",
        "8080",
        "8081",
        "not",
        "API",
        "uses",
        "部署",
        ". ",
        "? ",
        "\n",
        "1. ",
    ]
)


def memory(
    name: str, text: str, day: int = 0, kind: SourceKind = SourceKind.USER_EXPLICIT
) -> Memory:
    at = START + timedelta(days=day)
    return Memory(id=name, text=text, created=at, recorded_from=at, source=Source(kind))


def memories(*texts: str) -> list[Memory]:
    """Each a day newer than the one before, named a, b, c."""
    return [memory(chr(97 + day), text, day) for day, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith met J. R. Jones. He left.", ["Dr. Smith met J. R. Jones.", "He left."]),
        ("Pi is 3.14 here. Use v2.0.1. Done", ["Pi is 3.14 here.", "Use v2.0.1.", "Done"]),
        ("Use e.g. tabs. Not spaces!", ["Use e.g. tabs.", "Not spaces!"]),
        ("He said no. See No. 5 of it.", ["He said no.", "See No. 5 of it."]),
        ("Run `a.b. C` now. Then stop.", ["Run `a.b. C` now.", "Then stop."]),
        ("See docs/a.md. Or www.a.org. Fine", ["See docs/a.md.", "Or www.a.org.", "Fine"]),
        ("端口是8080。部署在周五！好吗？", ["端口是8080。", "部署在周五！", "好吗？"]),
        ("- one\n- two, and\n  more of two\n1. three", ["one", "two, and more of two", "three"]),
        ("# Title\nText. More", ["Text.", "More"]),
        ("# Only a title", ["Only a title"]),
        ("Before.\n```\nx = 1. Y\n```\nAfter.", ["Before.", "After."]),
        ("port: 8080\nhost: db", ["port: 8080", "host: db"]),
        ("[USER] Tabs.\n\n[ASSISTANT] Fine.", ["Tabs.", "Fine."]),
        ('"Stop." Then go.', ['"Stop."', "Then go."]),
        ("", []),
    ],
)
def test_a_text_is_taken_apart_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(max_size=300))
def test_no_word_of_plain_text_is_lost_or_made_up(text: str) -> None:
    plain = "".join(char for char in text if char.isalnum() or char in " .!?")
    joined = "".join("".join(sentences(plain)).split())
    assert "".join(plain.split()).endswith(joined)
    assert len("".join(plain.split())) - len(joined) <= 4  # a leading `12. ` is the list's


def test_questions_and_courtesies_are_known() -> None:
    assert asks("Is it on?")
    assert asks("好吗？")
    assert not asks("It is.")
    assert not says("Thanks, that is great!")
    assert says("The port moved.")


def test_memories_that_agree_are_one_belief_with_all_its_sources() -> None:
    said = memories(
        "Deploys of the API go through staging first.",
        "The API is always deployed to staging before production.",
        "Lunch is at noon.",
    )
    beliefs = learning_beliefs.beliefs(said)
    assert [set(belief.sources) for belief in beliefs] == [{"a", "b"}, {"c"}]
    assert all(any(belief.text in one.text for one in said) for belief in beliefs)


UNRELATED = (
    "Lunch is at noon.",
    "The billing service stores invoices in Postgres.",
    "Ilse runs the marathon on Sunday.",
    "Our printer needs blue toner.",
    "Kernel updates happen at night.",
    "Marta prefers green tea.",
)


def test_what_no_other_memory_shares_is_counted_and_not_repeated() -> None:
    said = memories(
        "Deploys of the API go through staging first.",
        "The API is always deployed to staging before production.",
        *UNRELATED,
    )
    (belief,) = learning_beliefs.beliefs(said)
    assert learning_beliefs.wording([belief], len(said)) == (
        f"- {belief.text} (2 memories) [{belief.sources[0]}, {belief.sources[1]}]\n"
        "- 6 further memories share no statement with these."
    )


def test_of_many_memories_that_share_nothing_none_is_repeated_without_a_topic() -> None:
    assert learning_beliefs.beliefs(memories(*UNRELATED)) == []
    assert len(learning_beliefs.beliefs(memories(*UNRELATED[:5]))) == 5
    assert len(learning_beliefs.beliefs(memories(*UNRELATED), "everything")) == 5


def test_memories_on_the_same_thing_are_counted_with_it() -> None:
    said = memories(
        "Dark theme is preferred in the editor.", "User likes dark themes, e.g. Solarized Dark."
    )
    (belief,) = learning_beliefs.beliefs(said)
    assert set(belief.sources) | set(belief.related) == {"a", "b"}


def test_another_number_is_named_and_not_counted_as_support() -> None:
    said = memories("The API listens on port 8080.", "The API listens on port 8081.")
    (belief,) = learning_beliefs.beliefs(said)
    assert belief == learning_beliefs.Belief("The API listens on port 8081.", ("b",), ("a",))
    assert belief.confidence == pytest.approx(1 / 3)


def test_a_denial_is_not_support_either() -> None:
    said = memories(
        "Deploys on Friday are fine for billing.", "Deploys on Friday are not fine for billing."
    )
    (belief,) = learning_beliefs.beliefs(said)
    assert (belief.sources, belief.otherwise) == (("b",), ("a",))


def test_the_more_trusted_of_two_wins_over_the_newer() -> None:
    said = [
        memory("a", "The API listens on port 8080.", 0),
        memory("b", "The API listens on port 8081.", 5, SourceKind.INFERENCE),
    ]
    (belief,) = learning_beliefs.beliefs(said)
    assert (belief.text, belief.otherwise) == ("The API listens on port 8080.", ("b",))


def test_questions_greetings_and_lead_ins_are_no_beliefs() -> None:
    said = memories("Which port does the API use?", "Thanks a lot!", "These are the open points:")
    assert learning_beliefs.beliefs(said) == []


def test_confidence_grows_with_support_and_falls_with_dissent() -> None:
    def of(agreeing: int, otherwise: int = 0) -> float:
        names = tuple(map(str, range(agreeing)))
        return learning_beliefs.Belief("x", names, tuple(map(str, range(otherwise)))).confidence

    assert of(1) == 0.5
    assert of(1) < of(2) < of(3) < 1
    assert of(3, 1) < of(3)
    assert learning_beliefs.confidence([]) == 0.0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("port 8080", "port 8081", True),
        ("port 8080", "the port", False),
        ("v2 on port 8080", "port 8080", False),
        ("use it", "do not use it", True),
        ("it doesn't work", "it never works", False),
    ],
)
def test_what_clashes(one: str, other: str, *, expected: bool) -> None:
    assert learning_beliefs.clash(one, other) is expected


@given(st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=8))
def test_a_gist_is_bounded_grounded_and_the_same_every_time(texts: list[str]) -> None:
    said = memories(*texts)
    beliefs = learning_beliefs.beliefs(said, "deploy")
    assert learning_beliefs.beliefs(list(said), "deploy") == beliefs
    assert len(beliefs) <= learning_beliefs.MAX_BELIEFS
    known = {one.id for one in said}
    for belief in beliefs:
        assert belief.sources
        assert {*belief.sources, *belief.otherwise} <= known
        assert len(set(belief.memories)) == len(belief.memories)
        assert 0 < belief.confidence < 1


RELEASE = "To release a version:\n1. Run `just test`.\n2. Bump the version.\n3. Tag the commit."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RELEASE, ["Run `just test`", "Bump the version", "Tag the commit"]),
        (
            "First run the tests, then tag the commit and finally push it.",
            ["Run the tests", "Tag the commit", "Push it"],
        ),
        (
            "Rotate keys: First create a key. Then revoke the old one.",
            ["Create a key", "Revoke the old one"],
        ),
        ("```sh\n$ make build\nmake push\n```", ["`make build`", "`make push`"]),
        ("```python\nrun()\n```", []),
        ("Never push on Friday. Do not use tabs.", []),
        ("The release went well.", []),
        ("Release was late.", []),
    ],
)
def test_steps_are_read_in_their_order(text: str, expected: list[str]) -> None:
    assert [step.text for step in procedures.account(memory("a", text)).steps] == expected


def test_what_two_memories_do_in_the_same_order_recurs() -> None:
    other = "Release: first run `just test`, then write the notes, then tag the commit."
    procedure = procedures.recurring(memories(RELEASE, other, "Lunch is at noon."))
    assert procedure is not None
    assert procedure.steps == ("Run `just test`", "Tag the commit")
    assert set(procedure.sources) == {"a", "b"}
    assert procedure.title in {"Release a version", "Release"}


def test_the_same_steps_in_another_order_do_not_recur() -> None:
    said = memories("First tag the commit, then build it.", "First build it, then tag the commit.")
    assert procedures.recurring(said) is None


def test_one_memory_alone_needs_three_ordered_steps() -> None:
    alone = procedures.recurring(memories(RELEASE))
    assert alone is not None
    assert alone.support == (1, 1, 1)
    assert procedures.recurring(memories("First run it, then stop it.")) is None
    assert procedures.recurring(memories("Use tabs. Write tests. Add docs. Check types.")) is None


def test_a_step_with_another_number_is_another_step() -> None:
    said = memories("First wait 5 minutes, then restart.", "First wait 50 minutes, then restart.")
    assert procedures.recurring(said) is None


def test_the_nearest_groups_join_first_and_the_far_stay_apart() -> None:
    a, near, far = {"x": 1.0}, {"x": 0.8, "y": 0.6}, {"z": 1.0}
    assert learning_beliefs.clusters([a, far, near]) == [[0, 2], [1]]
    assert learning_beliefs.clusters([a, far, near], threshold=0.9) == [[0], [1], [2]]
    assert learning_beliefs.clusters([]) == []


@given(st.text(max_size=60), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_any_steps_make_a_block_that_can_be_read_back(title: str, said: list[str]) -> None:
    text = skill_text(title, said, topic=title, sources=("mem_1",), confidence=0.5)
    block = yamo.parse(text)
    assert [value for _, value in block.constraints] == said
    assert block.agent == slug(title)


def _word(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in f"{number:04}")


def test_long_memories_are_reflected_on_in_seconds_and_still_agree() -> None:
    def long(name: str) -> Memory:
        filler = [
            f"Worker {name} moves crate {_word(n)} into hall {_word(n + 7)}." for n in range(900)
        ]
        filler.insert(450, "The gateway listens behind the proxy in production.")
        return memory(name, " ".join(filler))

    told = [long("one"), long("two"), long("three")]
    found: list[learning_beliefs.Belief] = []
    spent = effort(lambda: found.extend(learning_beliefs.beliefs(told, "gateway proxy")))
    assert any(
        "gateway" in belief.text and set(belief.sources) == {"one", "two", "three"}
        for belief in found
    )
    assert spent < 800  # all sentences against all: a thousand and more
