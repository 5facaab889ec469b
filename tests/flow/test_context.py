"""`context`: what goes into a prompt, in which order, and why; on a real store."""

import json
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from memory_mesh.context.packing import choice
from memory_mesh.context.packing.token_budget import FIRST_SHARE, PackRules
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.pack import LeftOutBy, Section
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing.doubles import FrozenClock

LESSON = {
    "situation": "a deploy on Friday",
    "error_pattern": "deploy without staging",
    "oversight": "nobody looked",
    "fix": "rolled back",
    "preventative_rule": "Deploy through staging first",
    "applicable_scope": "deploy",
    "severity": "critical",
    "confidence": 0.9,
}


def filled(mesh: MemoryMesh, count: int = 40) -> list[str]:
    return [
        mesh.add(f"Deploy number {at} of the web shop went through staging gate {at * 7}").id or ""
        for at in range(count)
    ]


@pytest.mark.req("R-003-065")
@pytest.mark.req("R-003-069")
def test_a_pack_holds_what_the_search_found_and_says_what_it_left_out(mesh: MemoryMesh) -> None:
    filled(mesh)
    mesh.add("Cats sleep all day")
    hits = mesh.search("deploy of the web shop", limit=100)
    pack = mesh.context("deploy of the web shop", max_tokens=300, min_relevance=0.0)
    assert pack
    assert {item.id for item in pack} < {hit.id for hit in hits}
    assert all(item.section is Section.FOUND for item in pack)
    assert {one.by for one in pack.left_out} == {LeftOutBy.BUDGET}
    seen = {item.id for item in pack} | {one.id for one in pack.left_out}
    assert seen == {hit.id for hit in hits[: 300 // 10]}
    assert str(pack) == pack.text
    assert all(item.memory.text in pack.text for item in pack)


@pytest.mark.req("R-003-066")
def test_what_is_linked_to_a_hit_comes_along(mesh: MemoryMesh) -> None:
    found = mesh.add("We deploy through staging").id or ""
    other = mesh.add("Ann has the keys of the blue room").id or ""
    assert other not in {item.id for item in mesh.context("deploy staging")}
    mesh.graph.link(found, other)
    items = {item.id: item for item in mesh.context("deploy staging")}
    assert items[other].section is Section.LINKED
    assert items[other].because == found
    assert items[other].score == items[found].score


@pytest.mark.req("R-003-066")
def test_the_links_of_every_hit_are_followed_both_ways_and_one_step(mesh: MemoryMesh) -> None:
    one = mesh.add("We deploy through staging").id or ""
    two = mesh.add("The deploy of Monday waits for staging").id or ""
    others = [mesh.add(f"Ann has key {at} of the blue room").id or "" for at in range(5)]
    from_one, to_one, from_two, to_two, further = others
    for source, target in ((one, from_one), (to_one, one), (two, from_two), (to_two, two)):
        mesh.graph.link(source, target)
    mesh.graph.link(from_one, further)
    because = {item.id: item.because for item in mesh.context("deploy staging")}
    assert because == {
        one: None, two: None, from_one: one, to_one: one, from_two: two, to_two: two,
    }  # fmt: skip


@pytest.mark.req("R-003-066")
def test_a_link_to_what_the_reader_does_not_see_changes_nothing(mesh: MemoryMesh) -> None:
    found = mesh.add("We deploy through staging").id or ""
    before = mesh.context("deploy staging", scope=Scope("mine"), record=False)
    hidden = mesh.add("Ann has the keys", scope=Scope("other")).id or ""
    mesh.view(scope=Scope("other")).graph.link(found, hidden)
    assert mesh.context("deploy staging", scope=Scope("mine"), record=False) == before
    assert hidden in {item.id for item in mesh.context("deploy staging", scope=Scope("other"))}


@pytest.mark.req("R-003-067")
def test_hits_and_linked_memories_are_ordered_together(mesh: MemoryMesh) -> None:
    found = mesh.add("We deploy through staging on Mondays").id or ""
    mesh.add("staging")
    other = mesh.add("Ann has the keys of the blue room").id or ""
    mesh.graph.link(found, other)
    scores = [
        item.score or 0.0 for item in mesh.context("deploy staging Mondays", min_relevance=0.0)
    ]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


@pytest.mark.req("R-003-070")
@pytest.mark.parametrize("budget", [1, 30, 60, 61, 100, 250, 1_000])
@pytest.mark.parametrize("format_", ["markdown", "xml", "json"])
def test_a_pack_never_exceeds_its_budget(mesh: MemoryMesh, budget: int, format_: str) -> None:
    filled(mesh, 30)
    for compact in (False, True):
        pack = mesh.context("deploy shop", max_tokens=budget, format=format_, compact=compact)
        assert choice.token_bound(pack.text) == pack.tokens <= budget
        assert sum(item.tokens for item in pack) <= pack.tokens


@pytest.mark.req("R-003-070")
def test_the_callers_tokenizer_counts(mesh: MemoryMesh) -> None:
    filled(mesh)
    pack = mesh.context("deploy shop", max_tokens=700, count_tokens=len)
    assert pack.counted_by == "count_tokens"
    assert len(pack.text) == pack.tokens <= 700
    assert pack

    def jumpy(text: str) -> int:  # parts say little about the whole
        return len(text) ** 2 // 1_000

    assert jumpy(mesh.context("deploy shop", max_tokens=700, count_tokens=jumpy).text) <= 700
    with pytest.raises(InvalidInput, match="whole number"):
        mesh.context("deploy shop", count_tokens=lambda _: 0.5)  # type: ignore[arg-type, return-value]


def test_the_default_budget_is_2000_or_5_percent_of_the_window(mesh: MemoryMesh) -> None:
    assert mesh.context("x").max_tokens == 2_000
    assert mesh.context("x", window=8_000).max_tokens == 400
    assert mesh.context("x", window=200_000).max_tokens == 2_000
    assert mesh.context("x", window=8_000, max_tokens=900).max_tokens == 900


@pytest.mark.parametrize(
    "wrong", [{"max_tokens": 0}, {"max_tokens": True}, {"window": "8k"}, {"format": "yaml"}]
)
def test_wrong_arguments_are_refused(mesh: MemoryMesh, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        mesh.context("x", **wrong)  # type: ignore[arg-type]


def test_nothing_relevant_is_an_empty_pack(mesh: MemoryMesh) -> None:
    mesh.add("We deploy through staging and much else that is said here at length")
    pack = mesh.context(
        "which cheese does the moon of Jupiter prefer for deploy", min_relevance=0.9
    )
    assert not pack
    assert pack.text == ""
    assert pack.injection_id is None
    assert {one.by for one in pack.left_out} == {LeftOutBy.RELEVANCE}
    assert pack.explanation is not None
    assert pack.explanation.below == 1


def test_pinned_memories_and_lessons_come_first_with_at_most_30_percent(mesh: MemoryMesh) -> None:
    filled(mesh, 30)
    for at in range(20):
        mesh.add(f"Deploy rule {at} of the shop: ask team {at * 13} for staging", pinned=True)
    mesh.distill_lesson(LESSON)
    pack = mesh.context("deploy shop staging", max_tokens=1_000, min_relevance=0.0)
    sections = [item.section for item in pack]
    first = [item for item in pack if item.section in {Section.PINNED, Section.LESSON}]
    assert first
    assert sections[: len(first)] == [item.section for item in first]
    assert sum(item.tokens for item in first) <= FIRST_SHARE * 1_000
    assert Section.FOUND in sections


def test_a_lesson_of_little_certainty_does_not_come_first(mesh: MemoryMesh) -> None:
    mesh.distill_lesson({**LESSON, "confidence": 0.4})
    assert mesh.context().items == ()
    assert [item.section for item in mesh.context("deploy staging")] == [Section.FOUND]


def test_what_is_superseded_is_never_in_a_pack(mesh: MemoryMesh) -> None:
    claim = {"subject": "deploy", "predicate": "day"}
    mesh.add("Deploys happen on Monday", claim={**claim, "value": "Monday"})
    mesh.add("Deploys happen on Friday", claim={**claim, "value": "Friday"})
    pack = mesh.context("when do deploys happen?")
    assert [item.memory.text for item in pack] == ["Deploys happen on Friday"]


def test_an_older_statement_follows_the_newer_one_and_goes_first(mesh: MemoryMesh) -> None:
    older = mesh.add("The API timeout is 30 seconds").id
    newer = mesh.add("The API timeout was raised to 60 seconds").id
    pack = mesh.context("What is the API timeout?")
    assert [item.id for item in pack] == [newer, older]
    assert (pack.items[1].section, pack.items[1].newer) == (Section.OLDER, newer)
    assert "older than 1" in pack.text
    short = mesh.context("What is the API timeout?", max_tokens=pack.tokens - 5)
    assert [item.id for item in short] == [newer]
    assert [(one.id, one.by, one.because) for one in short.left_out] == [
        (older, LeftOutBy.OLDER, newer)
    ]


def test_a_newer_statement_that_was_not_found_comes_along(mesh: MemoryMesh) -> None:
    older = mesh.add("The default branch is master").id
    newer = mesh.add("The default branch is now main").id
    pack = mesh.context("master", min_relevance=0.0)
    assert [item.id for item in pack] == [newer, older]
    assert (pack.items[0].section, pack.items[0].because) == (Section.NEWER, older)


def test_an_older_statement_is_marked_at_a_sessions_start_too(mesh: MemoryMesh) -> None:
    older = mesh.add("The API timeout is 30 seconds").id
    newer = mesh.add("The API timeout was raised to 60 seconds").id
    pack = mesh.context()
    assert [item.id for item in pack] == [newer, older]
    assert (pack.items[1].section, pack.items[1].newer) == (Section.OLDER, newer)
    assert "older than 1" in pack.text


def test_a_linked_older_statement_brings_the_newer_one(mesh: MemoryMesh) -> None:
    found = mesh.add("Ann has the keys of the blue room").id or ""
    older = mesh.add("The API timeout is 30 seconds").id or ""
    newer = mesh.add("The API timeout was raised to 60 seconds").id
    mesh.graph.link(found, older)
    items = {item.id: item for item in mesh.context("keys of the blue room")}
    assert (items[newer or ""].section, items[newer or ""].because) == (Section.NEWER, older)
    assert (items[older].section, items[older].newer) == (Section.OLDER, newer)


def test_what_a_link_brings_in_is_not_said_to_be_left_out(mesh: MemoryMesh) -> None:
    from memory_mesh.context.pack import PackRequest, pack

    found = mesh.add("We deploy through staging").id or ""
    other = mesh.add("Ann deploys the keys of the blue room in the old house").id or ""
    mesh.graph.link(found, other)
    scores = {hit.id: hit.score for hit in mesh.search("deploy staging", profile="rrf")}
    floor = (scores[found] + scores[other]) / 2
    rules = PackRules(profile="rrf", min_relevance=floor)
    made = pack(
        mesh._access(), PackRequest("deploy staging", mesh._lens(None), rules), record=False
    )
    assert [(item.id, item.section) for item in made] == [
        (found, Section.FOUND),
        (other, Section.LINKED),
    ]
    assert made.left_out == ()


def test_equals_stay_in_the_order_of_the_search(mesh: MemoryMesh) -> None:
    ids = [mesh.add(f"The build number is {number}").id for number in (11, 12, 13)]
    assert [item.id for item in mesh.context("build number")] == ids[::-1]


def test_a_memory_that_says_the_same_is_left_out(mesh: MemoryMesh) -> None:
    one = mesh.add("Deploys of the shop go through the staging gate every Monday morning").id
    two = mesh.add(
        "deploys of the Shop go through the staging gate every Monday morning!",
        allow_duplicate=True,
    ).id
    pack = mesh.context("deploys of the shop")
    assert {pack.items[0].id, pack.left_out[0].id} == {one, two}
    assert pack.left_out[0].by is LeftOutBy.REDUNDANT
    assert pack.left_out[0].because == pack.items[0].id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The build server speaks C++", "The build server speaks C#"),
        ("The freezer threshold is -5 degrees", "The freezer threshold is 5 degrees"),
        ("\U0001f44d", "\U0001f44e"),
    ],
)
def test_texts_that_differ_in_a_sign_do_not_say_the_same(
    mesh: MemoryMesh, one: str, other: str
) -> None:
    mesh.add(one, allow_duplicate=True)
    mesh.add(other, allow_duplicate=True)
    pack = mesh.context()
    assert {item.memory.text for item in pack} == {one, other}
    assert pack.left_out == ()


def test_of_a_long_text_the_best_part_is_shown(mesh: MemoryMesh) -> None:
    other = "The garden has roses and tulips, and a hedge that needs water in the summer. "
    parts = [other * 12, "Deploys of the shop go through the staging gate. " * 3, other * 12]
    mesh.add("\n\n".join(parts))
    pack = mesh.context("deploys of the shop staging gate", max_tokens=400, min_relevance=0.0)
    assert pack.items[0].cut
    assert "staging gate" in pack.text
    assert "a part" in pack.text


@pytest.mark.parametrize("budget", [160, 200, 500])
def test_a_part_of_a_long_text_fits_in_any_script(mesh: MemoryMesh, budget: int) -> None:
    mesh.add("".join(chr(0x4E00 + at * 37 % 5_000) for at in range(3_000)))
    pack = mesh.context(max_tokens=budget)
    assert [item.cut for item in pack] == [True]


def test_the_compact_form_says_where_it_shows_a_part_only(mesh: MemoryMesh) -> None:
    long = mesh.add("The first line\nand a second one").id
    short = mesh.add("One line only").id
    cut = {item.id: item.cut for item in mesh.context(compact=True)}
    assert cut == {long: True, short: False}


def test_an_older_statement_that_the_counter_drops_is_left_out_as_older(mesh: MemoryMesh) -> None:
    older = mesh.add("The API timeout is 30 seconds").id
    newer = mesh.add("The API timeout was raised to 60 seconds").id

    def counted(text: str) -> int:  # the whole costs more than its parts say
        return 41 if "older than 1" in text and "</memories" in text else 1

    pack = mesh.context("What is the API timeout?", max_tokens=40, count_tokens=counted)
    assert [item.id for item in pack] == [newer]
    assert [(one.id, one.by, one.because) for one in pack.left_out] == [
        (older, LeftOutBy.OLDER, newer)
    ]


def test_the_largest_number_of_memories_is_kept(mesh: MemoryMesh) -> None:
    filled(mesh, 10)
    pack = mesh.context("deploy shop", max_memories=3, min_relevance=0.0)
    assert len(pack) == 3
    assert LeftOutBy.COUNT in {one.by for one in pack.left_out}


@pytest.mark.req("R-000-206")
def test_a_session_starts_with_pinned_memories_lessons_the_newest_and_the_most_used(
    mesh: MemoryMesh,
) -> None:
    old = mesh.add("The office is in Lyon").id or ""
    for at in range(60):
        mesh.add(f"Note {at}: the meeting about topic {at * 31} was moved to room {at}")
    for _ in range(3):
        mesh.get(old)
    pinned = mesh.add("Never deploy on Friday", pinned=True).id
    mesh.distill_lesson({**LESSON, "severity": "low", "error_pattern": "typo", "fix": "retype"})
    mesh.distill_lesson(LESSON)
    pack = mesh.context(max_tokens=700)
    sections = [item.section for item in pack]
    assert sections[:3] == [Section.PINNED, Section.LESSON, Section.LESSON]
    assert pack.items[0].id == pinned
    severities = [item.memory.lesson.severity for item in pack if item.memory.lesson]
    assert severities == ["critical", "low"]
    assert pack.items[3].memory.text.startswith("Note 59")
    assert (pack.items[4].id, pack.items[4].section) == (old, Section.USED)
    assert pack.explanation is None


def test_the_projects_own_memories_come_before_those_of_all(mesh: MemoryMesh) -> None:
    mesh.add("for this project", scope=Scope("shop"))
    mesh.add("for every project")
    mesh.add("for another project", scope=Scope("bank"))
    pack = mesh.context(scope=Scope("shop"))
    assert [item.memory.text for item in pack] == ["for this project", "for every project"]


def test_the_same_pack_twice_is_byte_equal(mesh: MemoryMesh, clock: FrozenClock) -> None:
    filled(mesh)
    for question in ("deploy of the shop", None):
        texts = set()
        for _ in range(3):
            texts.add(mesh.context(question, max_tokens=600).text)
            clock.advance(timedelta(hours=1))
            mesh._access().ledger.flush(mesh.config.namespace)  # uses are counted
            mesh.clear_cache()
        assert len(texts) == 1


def test_what_entered_a_prompt_is_on_record(mesh: MemoryMesh) -> None:
    mesh.add("We deploy through staging")
    pack = mesh.context("deploy staging", scope=Scope("shop", "ann"))
    access = mesh._access()  # there is no verb to read it yet
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        kept = snapshot.injection(pack.injection_id or "")
    assert kept is not None
    assert (kept.tokens, kept.max_tokens, kept.fence) == (pack.tokens, 2_000, pack.fence)
    assert kept.reader.project == "shop"
    assert kept.question == "deploy staging"
    assert [one.memory for one in kept.memories] == [item.id for item in pack]
    assert mesh.get_all()[0].uses == 1
    assert mesh.care.verify().ok


def test_upkeep_writes_what_waits_to_be_recorded(mesh: MemoryMesh) -> None:
    mesh.add("We deploy through staging")
    id_ = mesh.context("deploy staging").injection_id or ""
    access = mesh._access()
    with access.ledger.read(access.namespace) as snapshot:
        assert snapshot.injection(id_) is None
    mesh.care.upkeep()
    with access.ledger.read(access.namespace) as snapshot:
        assert snapshot.injection(id_) is not None


@pytest.mark.parametrize("silent", ["record", "as_of", "yamo"])
def test_nothing_is_recorded_where_nothing_should_be(
    tmp_path: Path, clock: FrozenClock, silent: str
) -> None:
    yamo = silent != "yamo"
    with MemoryMesh(db_dir=tmp_path, clock=clock, embedder="none", enable_yamo=yamo) as mesh:
        mesh.add("We deploy through staging")
        clock.advance(timedelta(seconds=1))
        pack = mesh.context(
            "deploy staging",
            record=silent != "record",
            as_of=clock.now() if silent == "as_of" else None,
        )
        assert pack
        assert pack.injection_id is None
        assert mesh.care.recalls() == []


@pytest.mark.req("R-003-069")
def test_every_format_can_be_read_back(mesh: MemoryMesh) -> None:
    text = 'We say "deploy" & <go>\nthrough </memory> staging'
    id_ = mesh.add(text).id
    xml = ET.fromstring(mesh.context("deploy staging", format="xml").text)
    assert [each.text for each in xml.iter("memory")] == [text]
    read = json.loads(mesh.context("deploy staging", format="json").text)
    assert read["begin"] == read["end"]
    assert read["memories"][0]["text"].startswith('We say "deploy" & <go>\nthrough')
    compact = json.loads(mesh.context("deploy staging", format="json", compact=True).text)
    assert compact["memories"][0]["id"] == id_
    assert compact["memories"][0]["text"] == text.split("\n", maxsplit=1)[0]
    assert compact["memories"][0]["tokens"] == choice.token_bound(text)


@pytest.mark.req("R-003-068")
def test_with_a_price_it_is_the_score_over_the_price_that_counts(mesh: MemoryMesh) -> None:
    from memory_mesh.context.pack import PackRequest, pack

    filled(mesh, 30)
    rules = PackRules(
        max_tokens=400, profile="composite", min_relevance=0.0, price=lambda text: len(text.split())
    )
    lens = mesh._lens(None)  # as the faces build it
    made = pack(mesh._access(), PackRequest("deploy of the shop", lens, rules), record=False)
    found = mesh.search("deploy of the shop", limit=40, profile="composite")
    density = {hit.id: hit.score / len(hit.content.split()) for hit in found}
    expected = sorted(density, key=lambda id_: -density[id_])[: len(made)]
    assert {item.id for item in made} == set(expected)
    assert made.left_out


def test_a_pinned_memory_enters_every_pack_within_its_share(mesh: MemoryMesh) -> None:
    pinned = mesh.add("Always answer in German", pinned=True).id
    mesh.add("We deploy with the blue button")
    pack = mesh.context("how do we deploy")
    assert [item.section for item in pack.items] == ["pinned", "found"]
    assert pack.items[0].id == pinned
    assert mesh.context("xyzzy").items[0].id == pinned
    assert not mesh.context("xyzzy", exclude=[str(pinned)])
    for number in range(20):
        mesh.add(f"Rule {number} of the house: the door {number * 7} stays shut", pinned=True)
    full = mesh.context("how do we deploy", max_tokens=300)
    assert sum(item.tokens for item in full.items if item.section == "pinned") <= 90
    assert {item.section for item in full.items} == {"pinned", "found"}
    assert {left.by for left in full.left_out} == {"share"}
